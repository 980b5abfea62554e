using namespace precast;

Tensor<f16> normalised(const Tensor<f16>& x, const Tensor<f16>& weight, const Tensor<f16>& bias) {
  // [block]
  return y.clone();
}
