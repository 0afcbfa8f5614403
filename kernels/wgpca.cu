// All kernels, one module.
#include "compat.cuh"
#include "reduce.cuh"
#include "adam.cu"
#include "sinkhorn.cu"
#include "divergence.cu"
