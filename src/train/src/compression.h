// Lossy gradient exchange with error feedback (Seide et al. 2014; Karimireddy et al.
// 2019): what a rank does not send in one step it adds to its gradient of the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "state_view.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/parameter_layout.h"

namespace stepslack::train {

enum class CompressionMethod { kNone, kBfloat16, kTopK, kPowerSgd };

struct CompressionOptions {
  CompressionMethod method = CompressionMethod::kNone;
  double topk_share = 0.01;  // of all parameters, 0 .. 1; one is sent at least
  int powersgd_rank = 2;     // 1 or more
  uint64_t seed = 1;         // of PowerSGD's first basis; the same on every rank
};

class Compressor {
 public:
  virtual ~Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  virtual std::string_view name() const = 0;

  // On entry this rank's gradient; on return the sum over ranks of what each has sent,
  // bit-equal on every rank. Floats behind the parameter buffer are summed exactly. A
  // value that is not finite stays so, on every rank.
  virtual base::Status Exchange(std::span<float> gradients,
                                comm::Communicator& communicator) = 0;

  // A method that treats every value by itself can exchange the buffer in ranges, each
  // as soon as it is ready: Launch sends `range`, a part of `gradients`, and after the
  // work has ended Collect leaves the sum there.
  virtual bool by_range() const { return false; }
  virtual comm::Work Launch(std::span<float> gradients, std::span<float> range,
                            comm::Communicator& communicator);
  virtual void Collect(std::span<float> gradients, std::span<float> range);

  // Handed to collectives by this rank in the last exchange or launch.
  int64_t bytes() const { return bytes_; }

  // Gradient of earlier steps that this rank has not sent, in buffer order.
  std::span<float> residual() { return residual_; }
  virtual std::vector<StateView> state() { return {{"residual", residual_}}; }

 protected:
  explicit Compressor(size_t buffer_floats) : residual_(buffer_floats) {}
  // Sends `payload_` and `tail` of this rank to all and calls `add` with the payload of
  // each rank, its own included, in rank order; payloads are of one length. Sums the
  // tails.
  base::Status Gather(std::span<float> tail, comm::Communicator& communicator,
                      const std::function<void(const char* payload)>& add);

  std::vector<char> payload_;  // kept between steps: fresh memory costs page faults
  std::vector<char> gathered_;
  std::vector<float> residual_;
  int64_t bytes_ = 0;
};

// Null for kNone.
std::unique_ptr<Compressor> MakeCompressor(const CompressionOptions& options,
                                           std::vector<model::ParameterInfo> parameters,
                                           size_t buffer_floats);

}  // namespace stepslack::train
