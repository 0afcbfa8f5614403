// The same sources that are compiled for the GPU.
#include "cuda_on_cpu.h"
#include "wgpca.cu"
