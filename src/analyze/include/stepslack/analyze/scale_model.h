// Step time of data parallel training as a function of world size and per-rank batch,
// fitted to two or more measured scales. Formulas and limits: docs/projection.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::analyze {

// One measured scale.
struct ScalePoint {
  int64_t world_size = 0;
  double global_batch = 0;    // samples a step
  double step_seconds = 0;    // of one step, mean
  double samples = 0;         // to the target; 0: not known
  double log_sd_samples = 0;  // standard error of log(samples); 0: not known
};

// Non-negative least squares by enumeration of the active set: minimises
// sum_i weight_i (y_i - x_i c)^2 over c >= 0. At most 8 columns; rows of x have equal
// length. All zero when nothing fits.
std::vector<double> NonNegativeLeastSquares(const std::vector<std::vector<double>>& x,
                                            std::span<const double> y,
                                            std::span<const double> weight);

struct FittedForm {
  std::string_view name;             // "c b + d log2 N"
  std::vector<double> coefficients;  // seconds, >= 0
};

// A value with an 80 % interval; positive.
struct Interval80 {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A global batch that nobody told, and the bounds it is believed to lie in.
struct AssumedBatch {
  double value = 0;
  double low = 0;
  double high = 0;
  std::string_view basis;  // what was assumed
};

// The geometric mean of five non-negative forms in the per-rank batch b and N: c b + d,
// c b + d log2 N, c b + d log2 N + e, c b + d N^(1/4), c b + d N^(1/3), each fitted to
// relative errors. One form alone wins on some families and loses on others; the mean
// does not depend on a choice that two to five points cannot support.
class ScaleModel {
 public:
  // Points in any order; several at one world size are allowed.
  // Errors: PROJ-0001 (fewer than two world sizes), PROJ-0002 (a value is not positive
  // and finite).
  static base::Result<ScaleModel> Fit(std::span<const ScalePoint> points);

  // Seconds of a step. The deviation in logs is sqrt(floor^2 + rms^2 + (drift log2
  // (N / Nmax))^2) with the misfit rms of the forms; its factor is that of pooled
  // development residuals, not of a normal law.
  Interval80 StepSeconds(double world_size, double global_batch) const;
  double LogDeviation(double world_size) const;

  const std::vector<FittedForm>& forms() const { return forms_; }
  double misfit() const { return misfit_; }  // rms of the logs over points and forms
  int64_t smallest() const { return smallest_; }
  int64_t largest() const { return largest_; }
  // The batch measured at the largest world size (at `world_size` when measured there).
  double BatchAt(double world_size) const;
  // Samples a second whatever the batch: 1/X = a + p/N (Amdahl).
  double AmdahlThroughput(double world_size) const;

  // Where nobody tells the batch. Past the largest scale (below the smallest): the one
  // with the throughput of Amdahl's law, held between that of the scale itself (strong
  // scaling) and its per-rank batch (weak); weak when a worker has less than half a
  // sample there. Between two scales: by log B over log N.
  AssumedBatch BatchAssumedAt(double world_size) const;
  bool Measured(double world_size) const;

 private:
  double BatchWithRate(double world_size, double rate, double low, double high) const;

  std::vector<ScalePoint> points_;  // by world size
  std::vector<FittedForm> forms_;
  std::array<double, 2> amdahl_{};
  double misfit_ = 0;
  int64_t smallest_ = 0;
  int64_t largest_ = 0;
};

// Samples to the target as a function of the global batch: S(B) = a (1 + B / Bcrit)
// (McCandlish, Kaplan, Amodei 2018, "An Empirical Model of Large-Batch Training").
struct SamplesModel {
  double intercept = 0;                  // a, samples
  double slope = 0;                      // a / Bcrit, samples a sample of the batch
  std::optional<double> critical_batch;  // absent: see `reason`
  bool held = false;                     // one batch only: samples are known there
  double reference_batch = 0;            // the last one measured
  double log_deviation = 0;              // misfit and error of the points
  std::string reason;                    // why there is no critical batch
  // Held: those of the one batch, and above it growing as its cube root.
  double Samples(double batch) const;
  double LogDeviation(double batch) const;
};
// Absent when no point has samples.
std::optional<SamplesModel> FitSamples(std::span<const ScalePoint> points);

}  // namespace stepslack::analyze
