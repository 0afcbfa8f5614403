//! The compiled kernels, embedded in the crate, and their argument structs.

use std::collections::HashMap;

/// All kernels, for any GPU since Volta; the driver compiles them for the GPU at hand. Made by `kernels/build.py`.
pub(super) const PTX: &str = include_str!("../../kernels/wgpca.ptx");

/// The argument struct of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub align: usize,
    pub bytes: usize,
}

/// Size in bytes of the argument struct of every kernel.
pub(super) fn all_sizes() -> HashMap<String, usize> {
    #[allow(unused_mut)]
    let mut all: HashMap<_, _> = arguments(PTX).into_iter().map(|(name, taken)| (name, taken.bytes)).collect();
    // Tests use the kernels of the emulator, which include its own faulty kernels and current changes.
    #[cfg(test)]
    all.extend(wgpca_emulator::kernels().into_iter().map(|k| (k.name, k.bytes)));
    all
}

/// The argument struct of every kernel in a PTX text; kernels with other arguments are left out.
pub(super) fn arguments(ptx: &str) -> HashMap<String, Argument> {
    let mut kernels = HashMap::new();
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        let Some((_, head)) = line.split_once(".entry ") else { continue };
        let name = head.trim_end_matches(['(', ')', ' ']).to_owned();
        let mut declared = lines.by_ref().take_while(|l| !l.starts_with([')', '{']));
        if let (Some(first), None) = (declared.next(), declared.next())
            && let Some(argument) = argument(first)
        {
            kernels.insert(name, argument);
        }
    }
    kernels
}

/// Parses `.param .align 8 .b8 name[24]`.
fn argument(line: &str) -> Option<Argument> {
    let (align, rest) = line.trim().strip_prefix(".param .align ")?.split_once(' ')?;
    let (_, bytes) = rest.strip_prefix(".b8 ")?.strip_suffix(']')?.split_once('[')?;
    Some(Argument { align: align.parse().ok()?, bytes: bytes.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let text = "// .globl a\n.visible .entry a(\n\t.param .align 8 .b8 a_param_0[24]\n)\n{\n\tret;\n}\n\
                    .visible .entry b()\n{\n}\n\
                    .visible .entry c(\n\t.param .u64 .ptr .global .align 4 c_param_0\n)\n{\n}\n\
                    .visible .entry d(\n\t.param .align 8 .b8 d_param_0[8],\n\t.param .align 8 .b8 d_param_1[8]\n)\n{\n}\n\
                    .visible .entry e(\n\t.param .align 16 .b8 e_param_0[32]\n)\n.maxntid 256, 1, 1\n{\n}\n";
        let found = arguments(text);
        assert_eq!(found["a"], Argument { align: 8, bytes: 24 });
        assert_eq!(found["e"], Argument { align: 16, bytes: 32 });
        assert_eq!(found.len(), 2);
    }
}
