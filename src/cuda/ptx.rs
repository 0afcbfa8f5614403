//! The compiled kernels, as the crate carries them, and what arguments they take.

use std::collections::HashMap;

/// All kernels, for any GPU since Volta; the driver compiles them for the one at hand. `kernels/build.py` makes it.
pub(super) const PTX: &str = include_str!("../../kernels/wgpca.ptx");

/// Size in bytes of every parameter of every kernel.
pub(super) fn all_parameters() -> HashMap<String, Vec<usize>> {
    #[allow(unused_mut)]
    let mut all = parameters(PTX);
    // Under test the kernels are the emulator's: its own faulty ones too, and those that were just changed.
    #[cfg(test)]
    all.extend(wgpca_emulator::kernels().into_iter().map(|k| (k.name, k.parameters)));
    all
}

/// Size in bytes of every parameter of every kernel of a PTX text.
pub(super) fn parameters(ptx: &str) -> HashMap<String, Vec<usize>> {
    let mut kernels = HashMap::new();
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        let Some((_, head)) = line.split_once(".entry ") else { continue };
        let name = head.trim_end_matches(['(', ')', ' ']).to_owned();
        let declared = lines.by_ref().take_while(|l| !l.starts_with([')', '{']));
        kernels.insert(name, declared.filter_map(size).collect());
    }
    kernels
}

/// Size of one parameter: `.param .u64 name,` or `.param .align 8 .b8 name[24]`.
fn size(line: &str) -> Option<usize> {
    let mut words = line.trim().trim_end_matches(',').strip_prefix(".param ")?.split_whitespace();
    let bits = |w: &str| w.trim_start_matches(['.', 'u', 's', 'f', 'b']).parse::<usize>().ok();
    let kind = words.by_ref().find(|w| w.starts_with(['.']) && bits(w).is_some())?;
    let count = words.next_back().and_then(|name| name.split_once('[')?.1.strip_suffix(']')?.parse().ok());
    Some(bits(kind)? / 8 * count.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let text = "// .globl a\n.visible .entry a(\n\t.param .u64 a_param_0,\n\t.param .f32 a_param_1,\n\
                    \t.param .align 8 .b8 a_param_2[24]\n)\n{\n\tret;\n}\n.visible .entry b()\n{\n}\n\
                    .visible .entry c(\n\t.param .u64 .ptr .global .align 4 c_param_0\n)\n.maxntid 256, 1, 1\n{\n}\n";
        let found = parameters(text);
        assert_eq!(found["a"], [8, 4, 24]);
        assert!(found["b"].is_empty());
        assert_eq!(found["c"], [8]);
        assert_eq!(found.len(), 3);
    }

    /// Else the embedded text is of other sources.
    #[test]
    fn the_embedded_kernels_are_the_compiled_ones() {
        let embedded = parameters(PTX);
        let compiled = wgpca_emulator::kernels().into_iter().filter(|k| !k.for_tests);
        let compiled: HashMap<_, _> = compiled.map(|k| (k.name, k.parameters)).collect();
        assert!(compiled["check_gradients"] == [8, 8, 8]);
        for (name, sizes) in &compiled {
            assert_eq!(embedded.get(name), Some(sizes), "{name}: run kernels/build.py");
        }
        assert_eq!(embedded.len(), compiled.len(), "run kernels/build.py");
    }
}
