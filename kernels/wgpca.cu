// All kernels, one module.
#include "compat.cuh"
#include "reduce.cuh"
#include "adam.cu"
