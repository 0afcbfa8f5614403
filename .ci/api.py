#!/usr/bin/env python3
"""The public API of the crate as a text, one line an item: `.ci/api.py` writes docs/api.txt, `.ci/api.py --check` compares with it.

It reads what rustdoc says as JSON. That output is not stable: a release of Rust may rename a field or change how something is
written. So the header of docs/api.txt names the rustc that it was written with, and only that one compares.

RUSTC_BOOTSTRAP lets rustdoc of a stable Rust write JSON. It is for rustdoc alone: set for cargo it would rebuild most dependencies,
since the build script of proc-macro2 asks for it. Hence cargo starts this file in the place of rustdoc.

Left out: what is doc(hidden), auto traits (Send, Sync, …) and blanket implementations. Of files, target/doc/wgpca.json is written,
and cargo removes the HTML pages beside it.
"""

import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

FORMAT, TOOLCHAIN = 57, "1.95.0"  # what this file was written for
FEATURES = "faer laz ndarray"  # beside the default ones
ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "docs" / "api.txt"
REAL = "API_PY_RUSTDOC"
# Written without a path, unless the crate has the same name at its root.
PRELUDE = {"AsRef", "Box", "Clone", "Copy", "Debug", "Default", "Drop", "Eq", "Fn", "FnMut", "FnOnce", "From", "Into", "IntoIterator",
           "Iterator", "Option", "Ord", "PartialEq", "PartialOrd", "Result", "Send", "Sized", "String", "Sync", "ToString", "TryFrom",
           "TryInto", "Vec"}
STANDARD = {"core", "alloc", "std"}
RENAMED = {"serde_core": "serde"}  # crates that are only known under another's name
UNSEEN = {"StructuralPartialEq"}  # unstable; comes with derived PartialEq


class Unknown(Exception):
    """Something in the JSON that this file does not know."""


def only(node):
    """The tag and the content of an enum of serde: {"tag": content} or "tag"."""
    if isinstance(node, str):
        return node, None
    if not isinstance(node, dict) or len(node) != 1:
        raise Unknown(f"one key expected, found {str(node)[:80]}")
    return next(iter(node.items()))


class Api:
    def __init__(self, crate):
        self.index, self.summaries = crate["index"], crate["paths"]
        self.paths = {}  # id: every public path
        self.lines = set()  # (sort key, text)
        root = self.index[str(crate["root"])]
        self.crate = root["name"]
        self.walk(root, (), ())
        self.path = {i: min(paths, key=lambda p: (len(p), p)) for i, paths in self.paths.items()}
        self.at_root = {p[0] for paths in self.paths.values() for p in paths if len(p) == 1}
        for i, paths in self.paths.items():
            self.item(self.index[i], self.path[i])
            for other in paths - {self.path[i]}:
                self.add(other, f"use {'::'.join(other)} = {'::'.join(self.path[i])}")
        for item in self.index.values():
            if item["crate_id"] == root["crate_id"] and only(item["inner"])[0] == "impl":
                self.implementation(item["inner"]["impl"])

    def text(self):
        return [text for _, text in sorted(self.lines)]

    def add(self, path, text, group=""):
        self.lines.add(((*path, group) if group else path, text))

    # Which items are public, and where.

    def walk(self, module, path, above):
        if module["id"] in above:
            return
        for i in module["inner"]["module"]["items"]:
            item = self.index[str(i)]
            kind, content = only(item["inner"])
            if kind != "use":
                self.reach(item, (*path, item["name"]), (*above, module["id"]))
            elif str(content["id"]) not in self.index:
                star = ("*",) if content["is_glob"] else (content["name"],)
                self.add((*path, *star), f"use {'::'.join((*path, *star))} = {content['source']}")
            elif content["is_glob"]:
                self.walk(self.index[str(content["id"])], path, (*above, module["id"]))
            else:
                self.reach(self.index[str(content["id"])], (*path, content["name"]), (*above, module["id"]))

    def reach(self, item, path, above):
        self.paths.setdefault(str(item["id"]), set()).add(path)
        if only(item["inner"])[0] == "module":
            self.walk(item, path, above)

    # Items.

    def item(self, item, path):
        kind, x = only(item["inner"])
        name, marks = "::".join(path), self.marks(item)
        if kind == "module":
            self.add(path, f"mod {name}")
        elif kind == "function":
            self.add(path, marks + self.function(x, name))
        elif kind == "struct":
            form, content = only(x["kind"])
            fields, hidden = [], False
            if form == "plain":
                fields, hidden = content["fields"], content["has_stripped_fields"]
            elif form == "tuple":
                fields, hidden = [f for f in content if f is not None], None in content
            elif form != "unit":
                raise Unknown(f"struct of form {form}")
            tail = {"plain": " {}", "tuple": "()", "unit": ""}[form] if not fields and not hidden else ""
            tail = " { private fields }" if hidden else tail
            self.add(path, f"{marks}struct {name}{self.generics(x['generics'])}{tail}{self.where(x['generics'])}")
            for f in fields:
                field = self.index[str(f)]
                of = self.type(field["inner"]["struct_field"])
                self.add((*path, field["name"]), f"{self.marks(field)}{name}::{field['name']}: {of}")
        elif kind == "enum":
            tail = " { hidden variants }" if x["has_stripped_variants"] else ""
            self.add(path, f"{marks}enum {name}{self.generics(x['generics'])}{tail}{self.where(x['generics'])}")
            for v in x["variants"]:
                self.variant(self.index[str(v)], path)
        elif kind == "trait":
            bounds = self.bounds(x["bounds"])
            words = ("unsafe " if x["is_unsafe"] else "") + ("auto " if x["is_auto"] else "")
            bounds = f": {bounds}" if bounds else ""
            self.add(path, f"{marks}{words}trait {name}{self.generics(x['generics'])}{bounds}{self.where(x['generics'])}")
            for m in x["items"]:
                self.member(self.index[str(m)], path, name)
        elif kind == "type_alias":
            self.add(path, f"{marks}type {name}{self.generics(x['generics'])} = {self.type(x['type'])}{self.where(x['generics'])}")
        elif kind == "constant":
            value = x["const"]["value"] or x["const"]["expr"]
            self.add(path, f"{marks}const {name}: {self.type(x['type'])}{'' if value == '_' else f' = {value}'}")
        elif kind == "static":
            self.add(path, f"{marks}static {'mut ' if x['is_mutable'] else ''}{name}: {self.type(x['type'])}")
        elif kind == "macro":
            self.add(path, f"{marks}macro {name}!")
        else:
            raise Unknown(f"public item {name} of kind {kind}")

    def variant(self, item, path):
        x = item["inner"]["variant"]
        form, content = only(x["kind"])
        field = lambda f: self.type(self.index[str(f)]["inner"]["struct_field"])
        if form == "plain":
            fields = ""
        elif form == "tuple":
            fields = f"({', '.join('_' if f is None else field(f) for f in content)})"
        elif form == "struct":
            named = [f"{self.index[str(f)]['name']}: {field(f)}" for f in content["fields"]]
            fields = f" {{ {', '.join(named + ['..'] * content['has_stripped_fields'])} }}"
        else:
            raise Unknown(f"variant of form {form}")
        value = f" = {x['discriminant']['value']}" if x["discriminant"] else ""
        self.add((*path, item["name"]), f"{self.marks(item)}variant {'::'.join((*path, item['name']))}{fields}{value}")

    def member(self, item, path, owner, outer=None):
        """An item of a trait, or of an inherent impl whose generics are `outer`."""
        kind, x = only(item["inner"])
        name, marks, path = f"{owner}::{item['name']}", self.marks(item), (*path, item["name"])
        if kind == "function":
            provided = " { .. }" if outer is None and x["has_body"] else ""
            self.add(path, marks + self.function(x, name, outer) + provided)
        elif kind == "assoc_const":
            value = f" = {x['value']}" if x["value"] not in (None, "_") else ""
            self.add(path, f"{marks}const {name}: {self.type(x['type'])}{value}{self.where(outer)}")
        elif kind == "assoc_type":
            bounds = f": {self.bounds(x['bounds'])}" if x["bounds"] else ""
            value = f" = {self.type(x['type'])}" if x["type"] else ""
            self.add(path, f"{marks}type {name}{self.generics(x['generics'])}{bounds}{value}{self.where(x['generics'])}")
        else:
            raise Unknown(f"{name} of kind {kind}")

    def implementation(self, x):
        if x["is_synthetic"] or x["blanket_impl"]:
            return
        kind, target = only(x["for"])
        while kind in ("borrowed_ref", "slice", "array"):
            kind, target = only(target["type"] if "type" in target else target)
        ids = [str(target["id"])] if kind == "resolved_path" else []
        if x["trait"]:
            ids.append(str(x["trait"]["id"]))
        # Of the crate but without a public path: nobody outside sees the implementation.
        if any(self.summaries[i]["crate_id"] == 0 and i not in self.path for i in ids):
            return
        path = next((self.path[i] for i in ids if i in self.path), ("~",))
        if x["trait"] is None:
            for i in x["items"]:
                if self.index[str(i)]["visibility"] == "public":
                    self.member(self.index[str(i)], path, self.type(x["for"]), x["generics"])
            return
        if self.summaries[ids[-1]]["path"][-1] in UNSEEN:
            return
        types = []
        for i in x["items"]:
            kind, content = only(self.index[str(i)]["inner"])
            if kind == "assoc_type":
                types.append(f"type {self.index[str(i)]['name']} = {self.type(content['type'])}")
        words = f"{'unsafe ' if x['is_unsafe'] else ''}impl{self.generics(x['generics'])} {'!' if x['is_negative'] else ''}"
        body = f" {{ {'; '.join(sorted(types))} }}" if types else ""
        self.add(path, f"{words}{self.named(x['trait'])} for {self.type(x['for'])}{self.where(x['generics'])}{body}", "~impl")

    def marks(self, item):
        marks = []
        for attribute in item["attrs"]:
            kind, content = only(attribute)
            if kind in ("non_exhaustive", "must_use"):
                marks.append(kind)
            elif kind == "repr":
                named = [content["kind"], content["int"]] + [f"{k}({content[k]})" for k in ("align", "packed") if content[k]]
                marks.append(f"repr({', '.join(n for n in named if n and n != 'rust')})")
        if item["deprecation"]:
            marks.append("deprecated")
        return "".join(f"#[{m}] " for m in sorted(marks))

    # Signatures.

    def function(self, x, name, outer=None):
        arguments = [self.argument(n, t) for n, t in x["sig"]["inputs"]] + ["..."] * x["sig"]["is_c_variadic"]
        return (f"{self.header(x['header'])}fn {name}{self.generics(x['generics'])}({', '.join(arguments)})"
                f"{self.output(x['sig'])}{self.where(outer, x['generics'])}")

    def argument(self, name, t):
        if name == "self":
            kind, x = only(t)
            if t == {"generic": "Self"}:
                return "self"
            if kind == "borrowed_ref" and x["type"] == {"generic": "Self"}:
                return f"&{x['lifetime'] + ' ' if x['lifetime'] else ''}{'mut ' if x['is_mutable'] else ''}self"
        return f"{name}: {self.type(t)}"

    def header(self, x):
        words = [w for w in ("const", "async", "unsafe") if x[f"is_{w}"]]
        if x["abi"] != "Rust":
            words.append(f'extern "{only(x["abi"])[0]}"')
        return "".join(w + " " for w in words)

    def output(self, sig):
        return f" -> {self.type(sig['output'])}" if sig["output"] else ""

    def generics(self, x):
        params = [self.parameter(p) for p in x["params"]]
        params = [p for p in params if p]
        return f"<{', '.join(params)}>" if params else ""

    def parameter(self, p):
        kind, x = only(p["kind"])
        if kind == "lifetime":
            return p["name"] + (f": {' + '.join(x['outlives'])}" if x["outlives"] else "")
        if kind == "const":
            return f"const {p['name']}: {self.type(x['type'])}" + (f" = {x['default']}" if x["default"] else "")
        if kind != "type":
            raise Unknown(f"parameter of kind {kind}")
        if x["is_synthetic"]:  # `impl Trait` as an argument
            return None
        bounds = self.bounds(x["bounds"])
        return p["name"] + (f": {bounds}" if bounds else "") + (f" = {self.type(x['default'])}" if x["default"] else "")

    def where(self, first, second=None):
        """With one argument of an item its own clause; of an inherent member also the bounds of the parameters of its impl."""
        clauses = []
        if second is not None and first is not None:
            clauses = [p for p in map(self.parameter, first["params"]) if ":" in p]
        for generics in (first, second):
            for predicate in generics["where_predicates"] if generics else []:
                kind, x = only(predicate)
                if kind == "bound_predicate":
                    clauses.append(f"{self.quantified(x['generic_params'])}{self.type(x['type'])}: {self.bounds(x['bounds'])}")
                elif kind == "lifetime_predicate":
                    clauses.append(f"{x['lifetime']}: {' + '.join(x['outlives'])}")
                elif kind == "eq_predicate":
                    clauses.append(f"{self.type(x['lhs'])} == {self.term(x['rhs'])}")
                else:
                    raise Unknown(f"predicate of kind {kind}")
        return f" where {', '.join(clauses)}" if clauses else ""

    def quantified(self, params):
        return f"for<{', '.join(filter(None, map(self.parameter, params)))}> " if params else ""

    def bounds(self, bounds):
        return " + ".join(map(self.bound, bounds))

    def bound(self, bound):
        kind, x = only(bound)
        if kind == "outlives":
            return x
        if kind == "use":
            return f"use<{', '.join(only(p)[1] for p in x)}>"
        if kind != "trait_bound":
            raise Unknown(f"bound of kind {kind}")
        modifier = {"none": "", "maybe": "?", "maybe_const": "[const] "}[x["modifier"]]
        return f"{self.quantified(x['generic_params'])}{modifier}{self.named(x['trait'])}"

    def type(self, t):
        kind, x = only(t)
        if kind == "resolved_path":
            return self.named(x)
        if kind in ("generic", "primitive"):
            return {"never": "!", "unit": "()"}.get(x, x) if kind == "primitive" else x
        if kind == "tuple":
            return f"({', '.join(map(self.type, x))}{',' if len(x) == 1 else ''})"
        if kind == "slice":
            return f"[{self.type(x)}]"
        if kind == "array":
            return f"[{self.type(x['type'])}; {x['len']}]"
        if kind == "borrowed_ref":
            return f"&{x['lifetime'] + ' ' if x['lifetime'] else ''}{'mut ' if x['is_mutable'] else ''}{self.closed(x['type'])}"
        if kind == "raw_pointer":
            return f"*{'mut' if x['is_mutable'] else 'const'} {self.closed(x['type'])}"
        if kind == "impl_trait":
            return f"impl {self.bounds(x)}"
        if kind == "dyn_trait":
            traits = [self.quantified(p["generic_params"]) + self.named(p["trait"]) for p in x["traits"]]
            return f"dyn {' + '.join(traits + ([x['lifetime']] if x['lifetime'] else []))}"
        if kind == "qualified_path":
            base = self.type(x["self_type"])
            if x["trait"] and x["trait"]["path"]:
                base = base if "generic" in x["self_type"] and base == "Self" else f"<{base} as {self.named(x['trait'])}>"
            return f"{base}::{x['name']}{self.arguments(x['args'])}"
        if kind == "function_pointer":
            inputs = ", ".join(self.type(i) for _, i in x["sig"]["inputs"])
            return f"{self.quantified(x['generic_params'])}{self.header(x['header'])}fn({inputs}){self.output(x['sig'])}"
        if kind == "infer":
            return "_"
        raise Unknown(f"type of kind {kind}")

    def closed(self, t):
        text = self.type(t)
        return f"({text})" if only(t)[0] in ("dyn_trait", "impl_trait") and " + " in text else text

    def named(self, x):
        i = str(x["id"])
        if i in self.path:
            name = "::".join(self.path[i])
        elif i not in self.summaries:
            name = x["path"]
        else:
            crate, *rest = self.summaries[i]["path"]
            if crate == self.crate:
                name = f"<private>::{rest[-1]}"
            elif crate in STANDARD:
                # Its modules further down are private as a rule: std::io::error::Error is std::io::Error.
                name = rest[-1] if rest[-1] in PRELUDE - self.at_root else f"std::{rest[0]}::{rest[-1]}"
            else:
                name = f"{RENAMED.get(crate, crate)}::{rest[-1]}"
        return name + self.arguments(x["args"])

    def arguments(self, args):
        if not args:
            return ""
        kind, x = only(args)
        if kind == "parenthesized":
            return f"({', '.join(map(self.type, x['inputs']))})" + (f" -> {self.type(x['output'])}" if x["output"] else "")
        if kind != "angle_bracketed":
            raise Unknown(f"arguments of kind {kind}")
        texts = [self.generic_argument(a) for a in x["args"]]
        for c in x["constraints"]:
            binding, content = only(c["binding"])
            value = f" = {self.term(content)}" if binding == "equality" else f": {self.bounds(content)}"
            texts.append(c["name"] + self.arguments(c["args"]) + value)
        return f"<{', '.join(texts)}>" if texts else ""

    def generic_argument(self, argument):
        kind, x = only(argument)
        if kind == "lifetime":
            return x
        if kind == "type":
            return self.type(x)
        if kind == "const":
            return x["expr"]
        if kind == "infer":
            return "_"
        raise Unknown(f"argument of kind {kind}")

    def term(self, term):
        kind, x = only(term)
        return self.type(x) if kind == "type" else x["expr"]


def release():
    words = subprocess.run([os.environ.get("RUSTC", "rustc"), "-vV"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return re.search(r"^release: (.*)$", words, re.M)[1]


def document():
    """What rustdoc says of the crate."""
    asked = ["cargo", "metadata", "--locked", "--no-deps", "--format-version=1"]
    metadata = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    target = Path(json.loads(metadata.stdout)["target_directory"])
    cargo = ["cargo", "rustdoc", "--locked", "--release", "--lib", "--features", FEATURES]
    flags = ["--", "-Z", "unstable-options", "--output-format", "json"]
    environment = {**os.environ, REAL: os.environ.get("RUSTDOC", "rustdoc"), "RUSTDOC": str(Path(__file__).resolve())}
    done = subprocess.run(cargo + flags, cwd=ROOT, env=environment)
    if done.returncode:
        sys.exit("rustdoc found no public API to list: see what cargo says above")
    return json.loads((target / "doc" / "wgpca.json").read_text())


def listing(rustc):
    crate = document()
    found = crate.get("format_version")
    written_for = f".ci/api.py was written for rustc {TOOLCHAIN} (rustdoc's JSON format {FORMAT})"
    if found != FORMAT:
        print(f"note: {written_for}, this is rustc {rustc} (format {found})", file=sys.stderr)
    try:
        lines = Api(crate).text()
    except (KeyError, TypeError, AttributeError, Unknown) as e:
        sys.exit(f"{written_for}, and does not understand that of rustc {rustc} (format {found}): {type(e).__name__}: {e}")
    head = ["# The public API, written by .ci/api.py: one line an item, paths from the root of the crate.",
            f"# rustc {rustc}, default features and {FEATURES}", ""]
    return "".join(line + "\n" for line in head + lines)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"usage: {sys.argv[0]} [--check]")
    rustc = release()
    if not sys.argv[1:]:
        text = listing(rustc)
        LISTING.write_text(text)
        print(f"{LISTING.relative_to(ROOT)}: {text.count(chr(10)) - 3} items")
        return
    old = LISTING.read_text() if LISTING.exists() else ""
    pinned = re.search(r"^# rustc ([^ ,]+),", old, re.M)
    if not pinned:
        sys.exit("docs/api.txt is missing or names no rustc in its header: run python3 .ci/api.py")
    if pinned[1] != rustc:
        print(f"skipped: docs/api.txt is compared with rustc {pinned[1]} only; this is {rustc}, which may write the same API otherwise")
        return
    new = listing(rustc)
    if new == old:
        print("the public API is as in docs/api.txt")
        return
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "docs/api.txt", "the code", n=1))
    print("\nThe public API differs from docs/api.txt. If that is meant, run `python3 .ci/api.py` and commit the file.")
    sys.exit(1)


if __name__ == "__main__":
    if REAL in os.environ:  # started by cargo as rustdoc
        rustdoc = os.environ.pop(REAL)
        os.environ["RUSTC_BOOTSTRAP"] = "1"
        os.execvp(rustdoc, [rustdoc, *sys.argv[1:]])
    main()
