// All kernels, one module.
#include "compat.cuh"
#include "reduce.cuh"
#include "adam.cu"
#include "sampling.cu"
#include "interval.cu"
#include "terms.cu"
#include "times.cu"
