//! Memory layout of the networks: the tables that the kernels read (kernels/layers.cuh, kernels/weights.cu).

use crate::clouds::Architecture;
use crate::nn::{Activation, Mlp};

/// Quantities stored for each hidden unit and row: a, σ', z̄ of φ; a, σ', s, c, ȧ, ζ of f.
pub(super) const FIELDS_PHI: usize = 3;
pub(super) const FIELDS_F: usize = 6;
/// Quantities stored for each unit of f in the gradient of an eigenvalue.
pub(super) const JETS: usize = 11;

/// Number of hidden units of φ and of f.
pub(super) fn stored(architecture: &Architecture) -> [usize; 2] {
    [&architecture.phi, &architecture.f].map(|mlp| before(mlp, mlp.hidden() + 1))
}

/// Σ widths of the hidden layers below l.
fn before(mlp: &Mlp, l: usize) -> usize {
    mlp.sizes()[1..l].iter().sum()
}

/// The table that `Shape` reads.
pub(super) fn table(architecture: &Architecture) -> Vec<u32> {
    const HEAD: usize = 11;
    let a = architecture;
    let behind = a.phi_parameters();
    let phi = network(&a.phi, 0);
    let f = network(&a.f, behind);
    let mut head = vec![
        a.dim(),
        usize::from(a.residual),
        HEAD,
        HEAD + phi.len(),
        a.shift().start,
        a.linear().start,
        behind + a.quadratic().start,
        behind + a.slope().start,
        behind,
        behind + a.f_parameters(),
        behind + a.linear_in_f().start,
    ];
    head.extend(phi);
    head.extend(f);
    // It was checked before that the number of parameters fits into u32.
    head.into_iter().map(|n| n as u32).collect()
}

fn network(mlp: &Mlp, offset: usize) -> Vec<usize> {
    let kind = match mlp.activation() {
        Activation::Relu => 0,
        Activation::Elu => 1,
        Activation::Softplus => 2,
        Activation::Tanh => 3,
    };
    let mut table = vec![mlp.hidden(), kind, before(mlp, mlp.hidden() + 1)];
    for (l, &size) in mlp.sizes().iter().enumerate() {
        let weights = if l > 0 { offset + mlp.weights(l).start } else { 0 };
        let before = if l > 0 { before(mlp, l) } else { 0 };
        table.extend([size, weights, before]);
    }
    table
}

/// The sums over rows that form the gradient, divided into tiles and parts.
#[derive(Clone, Debug)]
pub(super) struct Products {
    pub table: Vec<u64>,
    pub tiles: Vec<u32>,
    /// Rows per part, a multiple of 64, and number of parts.
    pub part: usize,
    pub parts: usize,
}

/// Origin of an operand: a source of kernels/weights.cu, and an offset in `store`.
type Operand = [u64; 2];
const X: Operand = [1, 0];
const U: Operand = [2, 0];
const BAR_U: Operand = [3, 0];
const BAR_V: Operand = [4, 0];
const ONES: Operand = [5, 0];
const ABSENT: Operand = [6, 0];
const NOWHERE: u64 = u64::MAX;
/// Outputs and inputs per tile.
const TILE: usize = 64;
/// Number of blocks that fills a large GPU. A constant, so that sums do not depend on the GPU.
const BLOCKS: usize = 512;

pub(super) fn products(architecture: &Architecture, m: usize) -> Products {
    let a = architecture;
    let (phi, f, d) = (&a.phi, &a.f, a.dim());
    let [stored_phi, stored_f] = stored(a);
    let of_phi = |field: usize, l: usize| [0, (m * (field * stored_phi + before(phi, l))) as u64];
    let of_f = |field: usize, l: usize| [0, (m * (FIELDS_PHI * stored_phi + field * stored_f + before(f, l))) as u64];
    let mut products = Products { table: vec![], tiles: vec![], part: 0, parts: 0 };
    for l in 1..=phi.hidden() + 1 {
        let bar = if l > phi.hidden() { BAR_U } else { of_phi(2, l) };
        let below = if l == 1 { X } else { of_phi(0, l - 1) };
        let places = [phi.weights(l).start as u64, phi.biases(l).start as u64];
        products.add([phi.sizes()[l], phi.sizes()[l - 1]], places, [bar, below, ABSENT, ABSENT]);
    }
    if a.residual {
        products.add([d, d], [a.linear().start as u64, a.shift().start as u64], [BAR_U, X, ABSENT, ABSENT]);
    }
    let behind = a.phi_parameters();
    for l in 1..=f.hidden() {
        let (below, dot) = if l == 1 { (U, BAR_V) } else { (of_f(0, l - 1), of_f(4, l - 1)) };
        let places = [(behind + f.weights(l).start) as u64, (behind + f.biases(l).start) as u64];
        products.add([f.sizes()[l], f.sizes()[l - 1]], places, [of_f(5, l), below, of_f(2, l), dot]);
    }
    let (top, w) = (f.hidden(), (behind + f.weights(f.hidden() + 1).start) as u64);
    products.add([1, f.sizes()[top]], [w, NOWHERE], [ABSENT, ABSENT, ONES, of_f(4, top)]);
    if a.residual {
        let places = [(behind + a.quadratic().start) as u64, (behind + a.slope().start) as u64];
        products.add([d, d], places, [BAR_V, U, ABSENT, ABSENT]);
    }
    let tiles = products.tiles.len() / 3;
    let parts = BLOCKS.div_ceil(tiles).clamp(1, m.div_ceil(TILE));
    products.part = m.div_ceil(parts).next_multiple_of(64);
    products.parts = m.div_ceil(products.part);
    products
}

impl Products {
    fn add(&mut self, [n_out, n_in]: [usize; 2], places: [u64; 2], operands: [Operand; 4]) {
        let index = (self.table.len() / 12) as u32;
        self.table.extend([n_out as u64, n_in as u64]);
        self.table.extend(places);
        self.table.extend(operands.as_flattened());
        for o in (0..n_out).step_by(TILE) {
            for i in (0..n_in).step_by(TILE) {
                self.tiles.extend([index, o as u32, i as u32]);
            }
        }
    }
}
