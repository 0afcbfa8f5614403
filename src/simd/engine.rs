//! The two precisions on this CPU: their vector types and their matrix product (that of faer, on one thread).

use super::Lanes;
use super::real::{Engine, View, Write};
#[cfg(target_arch = "x86_64")]
use super::x86;

macro_rules! engine {
    ($t:ident, $avx2:ident, $avx512:ident) => {
        impl Engine for $t {
            type Portable = Lanes<$t, false>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = x86::$avx512;
            #[cfg(target_arch = "aarch64")]
            type Neon = Lanes<$t, true>;

            fn gemm(out: &mut [$t], write: Write, a: View<'_, $t>, b: View<'_, $t>) {
                fn view(v: View<'_, $t>) -> faer::MatRef<'_, $t> {
                    let m = faer::MatRef::from_row_major_slice(v.data, v.rows, v.cols);
                    if v.transposed { m.transpose() } else { m }
                }
                let (a, b) = (view(a), view(b));
                let out = faer::MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
                let accum = match write {
                    Write::Replace => faer::Accum::Replace,
                    Write::Add => faer::Accum::Add,
                };
                faer::linalg::matmul::matmul(out, accum, a, b, 1.0, faer::Par::Seq);
            }
        }
    };
}
engine!(f32, F32x8, F32x16);
engine!(f64, F64x4, F64x8);
