// Distances between two distributions over the same bins or categories. `p` and `q`
// are probabilities or counts; each is divided by its sum first. Results have no unit
// (nats where a logarithm is meant). NaN when the lengths differ, a sum is not
// positive, or an entry is negative or not finite.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stepslack::stats {

// sqrt(1 - sum sqrt(p q)).
double HellingerDistance(std::span<const double> p, std::span<const double> q);
// Half of sum |p - q|.
double TotalVariation(std::span<const double> p, std::span<const double> q);
// max |p - q|.
double LargestDifference(std::span<const double> p, std::span<const double> q);
// sum p ln(p / q); infinite where p > 0 meets q = 0.
double KullbackLeibler(std::span<const double> p, std::span<const double> q);

// Mean of KL(p || m) and KL(q || m), m the mean of both; in nats. Our convention is
// the divergence. SciPy's jensenshannon and Evidently report its square root (the
// distance), Evidently in base 2: divide the divergence by ln 2 before the root.
double JensenShannonDivergence(std::span<const double> p, std::span<const double> q);
double JensenShannonDistance(std::span<const double> p, std::span<const double> q,
                             double logarithm_base = 2.718281828459045);

// How an empty bin is treated: the four published ways give numbers that differ
// twentyfold on the same data, so the convention is part of the result.
enum class EmptyBins {
  kAddHalf,    // (count + 0.5) / (total + 0.5 bins): ours, for it depends on n
  kFloor0_01,  // every share below 0.01 is raised to it
  kFill1e4,    // shares of zero become 1e-4 (Evidently)
  kFill1e6,    // shares of zero become 1e-6
  kNone        // infinite when one side is empty
};
std::string_view ToString(EmptyBins convention);

// Population stability index sum (p - q) ln(p / q) over counts, natural logarithm.
// Raised shares are not divided by their sum again, as in the peers.
double PopulationStabilityIndex(std::span<const double> expected,
                                std::span<const double> actual,
                                EmptyBins convention = EmptyBins::kAddHalf);

// Mean of PSI without drift, (bins - 1)(1 / n + 1 / m), from its chi-squared limit
// (Yurdakul and Naranjo 2020): a fixed limit such as 0.1 is met by chance in small
// windows and never in large ones.
double PsiWithoutDrift(int64_t bins, double n, double m);

// Inner edges at the type-7 quantiles of the reference at 1 / bins, 2 / bins, ...;
// equal edges are merged, so heavy ties give fewer bins. Empty unless 2 to
// 10,000 bins, or when nothing is finite.
std::vector<double> QuantileEdges(std::span<const double> reference, int bins);
// Counts in (-inf, e0), [e0, e1), ..., [last, inf). Values that are not finite are
// counted in no bin. `inner_edges` ascend.
std::vector<double> CountInBins(std::span<const double> values,
                                std::span<const double> inner_edges);

}  // namespace stepslack::stats
