// A host compiler's unit for CUDA that calls a kernel which no unit of nvcc's instantiates: it must not link.
#include <precast/backend/norm.hpp>
#include <precast/policy/op_table.hpp>

int main() {
  precast::cuda::softmax<precast::Precisions<float, float, float, float, float>, float>({}, {}, {});
}
