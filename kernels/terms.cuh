// Constants of the terms of the loss.
#pragma once
#include "compat.cuh"

// Twin: cuda::terms::TermShape.
struct TermShape {
    uint64_t n, m;
    uint64_t count;                // m d
    double first_low, first_high;  // interval of the first component, if there are earlier ones
    double reach;
    double lambda_intersection, lambda_orthogonality;
    uint32_t d;
    uint32_t visits;               // number of slots
    uint32_t earlier;              // number of earlier components
    uint32_t lanes;                // neighbouring threads that share a row
    uint32_t blocks;               // number of parts of a sum
    uint32_t pointwise;
};
LAYOUT(TermShape, n, m, count, first_low, first_high, reach, lambda_intersection, lambda_orthogonality, d, visits, earlier, lanes,
       blocks, pointwise)
