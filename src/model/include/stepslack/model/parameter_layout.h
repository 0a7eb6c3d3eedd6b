// Where each parameter of a network lives in the flat buffers, and how it starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepslack::model {

struct ParameterInfo {
  std::string name;  // "encoder.1.a.kernel"
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in floats, into the value and the gradient buffer
  int64_t count = 0;
  bool decay = false;    // weight decay applies (kernels and weights only)
  double deviation = 0;  // initial values: normal with this standard deviation...
  double start = 0;      // ...around this value
};

// Parameters in the order in which they are added; offsets are multiples of 16 floats,
// one cache line and one vector register, and the gaps stay zero.
class ParameterLayout {
 public:
  // A convolution kernel [out, in, size, size], He-initialised (He et al. 2015) times
  // gain.
  size_t AddKernel(std::string name, int64_t out, int64_t in, int64_t size,
                   double gain);
  // Weights of any shape, normal with variance gain^2 * 2 / fan_in.
  size_t AddWeights(std::string name, std::vector<int64_t> shape, int64_t fan_in,
                    double gain);
  // A vector of one constant.
  size_t AddVector(std::string name, int64_t count, double start);

  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  int64_t buffer_floats() const { return end_; }  // gaps included
  int64_t parameter_count() const { return count_; }

  // Writes initial values; every parameter has its own random stream, so that adding a
  // layer does not change the others.
  void Initialise(uint64_t seed, std::span<float> values) const;

 private:
  size_t Add(ParameterInfo info);
  std::vector<ParameterInfo> parameters_;
  int64_t end_ = 0;
  int64_t count_ = 0;
};

}  // namespace stepslack::model
