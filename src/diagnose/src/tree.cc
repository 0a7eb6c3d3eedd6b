#include "stepslack/diagnose/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "explained_share.h"
#include "stepslack/base/text.h"
#include "stepslack/diagnose/fact_names.h"

namespace stepslack::diagnose {
namespace {

using Findings = std::vector<const CauseFinding*>;

std::string_view QuestionOf(std::string_view layer) {
  if (layer == "data") return "data drift (dataset and labels, leakage, split policy)?";
  if (layer == "model") return "model drift (overfit, optimisation)?";
  if (layer == "runtime") return "runtime (scheduling, precision, implementation)?";
  return "hardware and mapping (bandwidth, slow or shared devices)?";
}

void AddOnce(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

bool CanExplain(const Cause& cause, const FailedRequirement& failed) {
  if (!failed.layer_hint.empty() && failed.layer_hint != cause.layer) return false;
  return std::ranges::find(cause.affects, failed.category) != cause.affects.end();
}

// Fills state, evidence and missing from the signature.
void JudgeSignature(const Cause& cause, const Facts& facts, CauseFinding& finding) {
  bool refuted = false;
  bool all_hold = true;
  for (const Predicate& predicate : cause.when) {
    const PredicateState state = Judge(predicate, facts);
    refuted = refuted || state == PredicateState::kRefuted;
    all_hold = all_hold && state == PredicateState::kHolds;
    if (state == PredicateState::kMissing) AddOnce(finding.missing, predicate.fact);
    finding.evidence.push_back(Describe(predicate, state, facts));
  }
  if (refuted) {
    finding.state = CauseState::kRefuted;
  } else if (all_hold && !cause.when.empty()) {
    finding.state = CauseState::kSupported;
  }
}

CauseFinding Evaluate(const Cause& cause, const Facts& facts,
                      const std::vector<FailedRequirement>& violated) {
  CauseFinding finding;
  finding.id = cause.id;
  finding.layer = cause.layer;
  finding.title = cause.title;
  finding.competitors = cause.competitors;
  finding.discriminating_test = cause.discriminating_test;
  finding.experiment = cause.experiment;
  finding.fix = cause.fix;
  finding.owner = cause.owner;
  JudgeSignature(cause, facts, finding);
  std::vector<std::string> categories;
  for (const FailedRequirement& f : violated) {
    if (CanExplain(cause, f)) categories.push_back(f.category);
  }
  finding.relevant = !categories.empty();
  const ExplainedShare explained = ComputeExplainedShare(cause, facts, categories);
  if (explained.asked && finding.state == CauseState::kSupported) {
    finding.evidence.push_back(explained.sentence);
    for (const std::string& fact : explained.missing) AddOnce(finding.missing, fact);
    finding.share_asked = true;
    finding.share_stated = explained.share.has_value();
    finding.explained_share = explained.share.value_or(0);
  }
  return finding;
}

// The walk over the layers for metrics that regressed.
class Walk {
 public:
  explicit Walk(Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

  void Run() {
    for (const std::string_view layer : Layers()) {
      if (const CauseFinding* primary = Ask(layer); primary != nullptr) {
        Conclude(*primary);
        return;
      }
    }
    if (weak_ != nullptr) {
      AbstainOnShare(*weak_);
    } else {
      AbstainWithoutCause();
    }
  }

 private:
  // A cause that promises a share and does not reach it can not carry the diagnosis.
  static bool IsWeak(const CauseFinding& finding) {
    return finding.share_asked && finding.explained_share < kMinimumExplainedShare;
  }

  // Strong shares first (largest first), then causes without a share, then weak ones;
  // catalogue order breaks ties.
  static const CauseFinding* Strongest(const Findings& supported) {
    const auto rank = [](const CauseFinding* finding) {
      const int group = IsWeak(*finding) ? 2 : (finding->share_stated ? 0 : 1);
      return std::tuple(group, -finding->explained_share);
    };
    return supported.empty() ? nullptr : *std::ranges::min_element(supported, {}, rank);
  }

  Findings Select(std::string_view layer, CauseState state) const {
    Findings selected;
    for (const CauseFinding& finding : diagnosis_.causes) {
      if (finding.relevant && finding.layer == layer && finding.state == state) {
        selected.push_back(&finding);
      }
    }
    return selected;
  }

  // One question of the tree. The layer's strongest supported cause when it can carry
  // the diagnosis; else null, and the walk goes on.
  const CauseFinding* Ask(std::string_view layer) {
    const Findings supported = Select(layer, CauseState::kSupported);
    const size_t refuted = Select(layer, CauseState::kRefuted).size();
    const size_t undecided = Select(layer, CauseState::kUndecided).size();
    const CauseFinding* primary = Strongest(supported);
    std::string answer;
    if (primary != nullptr && !IsWeak(*primary)) {
      answer = fmt::format("yes: {} {}", primary->id, primary->title);
    } else if (primary != nullptr) {
      answer = fmt::format("in part: {} {} (explains {} of the loss)", primary->id,
                           primary->title, base::Human(primary->explained_share));
      if (weak_ == nullptr) weak_ = primary;
      primary = nullptr;
    } else if (refuted + undecided == 0) {
      answer = "no: no cause of this layer concerns what fails";
    } else if (refuted == 0) {
      answer = fmt::format("not known: all {} causes are undecided", undecided);
      unexamined_.emplace_back(layer);
    } else {
      answer = fmt::format("no: {} causes refuted, {} undecided", refuted, undecided);
    }
    diagnosis_.path.push_back(fmt::format("{} {}", QuestionOf(layer), answer));
    return primary;
  }

  void Conclude(const CauseFinding& primary) {
    // A measured majority of the loss needs no earlier layer to be cleared.
    const bool has_majority = primary.share_stated;
    if (weak_ != nullptr && !has_majority) return AbstainOnShare(*weak_);
    for (const CauseFinding& other : diagnosis_.causes) {
      if (other.relevant && other.state == CauseState::kSupported &&
          AreCompetitors(primary, other)) {
        return AbstainOnClash(primary, other);
      }
    }
    if (!unexamined_.empty() && !has_majority) return AbstainOnUnexamined(primary);
    Name(primary);
  }

  static bool AreCompetitors(const CauseFinding& a, const CauseFinding& b) {
    const auto names = [](const CauseFinding& from, const std::string& id) {
      return std::ranges::find(from.competitors, id) != from.competitors.end();
    };
    return a.id != b.id && (names(a, b.id) || names(b, a.id));
  }

  void Name(const CauseFinding& primary) {
    diagnosis_.layer = primary.layer;
    diagnosis_.primary = primary.id;
    diagnosis_.reason =
        fmt::format("{} {} is the first supported cause ({})", primary.id,
                    primary.title, fmt::join(primary.evidence, "; "));
    std::vector<std::string> open;
    for (const CauseFinding& other : diagnosis_.causes) {
      if (other.state != CauseState::kUndecided || !other.relevant) continue;
      if (!AreCompetitors(primary, other)) continue;
      open.push_back(other.id);
      for (const std::string& fact : other.missing) AddOnce(diagnosis_.missing, fact);
    }
    if (weak_ != nullptr) {
      diagnosis_.reason += fmt::format("; {} of an earlier layer explains only {}",
                                       weak_->id, base::Human(weak_->explained_share));
    }
    if (!open.empty()) {
      diagnosis_.reason +=
          fmt::format("; competitors not ruled out: {}", fmt::join(open, ", "));
    }
  }

  void AbstainOnClash(const CauseFinding& primary, const CauseFinding& other) {
    diagnosis_.reason = fmt::format(
        "{} {} and its competitor {} {} are both supported; this test decides: {}",
        primary.id, primary.title, other.id, other.title, primary.discriminating_test);
    AddOnce(diagnosis_.missing, "discriminating test: " + primary.discriminating_test);
  }

  void AbstainOnShare(const CauseFinding& weak) {
    if (weak.share_stated) {
      diagnosis_.reason = fmt::format(
          "{} {} is supported but explains {} of the loss, less than {}", weak.id,
          weak.title, base::Human(weak.explained_share), kMinimumExplainedShare);
    } else {
      diagnosis_.reason = fmt::format("{} {} is supported, but {}", weak.id, weak.title,
                                      weak.evidence.back());
    }
    for (const std::string& fact : weak.missing) AddOnce(diagnosis_.missing, fact);
    AddOnce(diagnosis_.missing, "discriminating test: " + weak.discriminating_test);
    AddMissingOfUndecided();
  }

  void AbstainOnUnexamined(const CauseFinding& primary) {
    diagnosis_.reason = fmt::format(
        "{} {} is supported in the {} layer, but no cause of an earlier layer ({}) "
        "could be "
        "decided",
        primary.id, primary.title, primary.layer, fmt::join(unexamined_, ", "));
    AddMissingOfUndecided();
  }

  void AbstainWithoutCause() {
    size_t refuted = 0;
    size_t undecided = 0;
    for (const CauseFinding& finding : diagnosis_.causes) {
      if (!finding.relevant) continue;
      refuted += finding.state == CauseState::kRefuted ? 1 : 0;
      undecided += finding.state == CauseState::kUndecided ? 1 : 0;
    }
    diagnosis_.reason = fmt::format(
        "no cause that could explain it is supported: {} refuted, {} undecided",
        refuted, undecided);
    AddMissingOfUndecided();
  }

  void AddMissingOfUndecided() {
    for (const CauseFinding& finding : diagnosis_.causes) {
      if (!finding.relevant || finding.state != CauseState::kUndecided) continue;
      for (const std::string& fact : finding.missing) AddOnce(diagnosis_.missing, fact);
      if (finding.missing.empty()) {
        AddOnce(diagnosis_.missing, fmt::format("more samples for {}: {}", finding.id,
                                                fmt::join(finding.evidence, "; ")));
      }
    }
  }

  Diagnosis& diagnosis_;
  const CauseFinding* weak_ = nullptr;
  std::vector<std::string> unexamined_;
};

// The first question: which metrics are violated, which are merely not known.
std::string DescribeFailures(const std::vector<FailedRequirement>& failed,
                             bool violated_only) {
  std::vector<std::string> texts;
  for (const FailedRequirement& f : failed) {
    const bool is_violated = f.verdict == base::Verdict::kViolated;
    if (f.verdict == base::Verdict::kMet || is_violated != violated_only) continue;
    texts.push_back(fmt::format("{} ({}: {})", f.title, f.id, ToString(f.verdict)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void ConcludeWithoutRegression(const std::vector<FailedRequirement>& failed,
                               Diagnosis& diagnosis) {
  diagnosis.reason = "no watched metric fails";
  const std::string open = DescribeFailures(failed, false);
  if (!open.empty()) diagnosis.reason += "; not decided: " + open;
  for (const FailedRequirement& f : failed) {
    if (f.verdict == base::Verdict::kInconclusive) {
      AddOnce(diagnosis.missing, fmt::format("more samples of {}", f.metric));
    } else if (f.verdict != base::Verdict::kMet) {
      AddOnce(diagnosis.missing, fmt::format("a measurement of {}", f.metric));
    }
  }
  std::vector<std::string> risks;
  for (const CauseFinding& finding : diagnosis.causes) {
    if (finding.state == CauseState::kSupported) risks.push_back(finding.id);
  }
  diagnosis.path.push_back(fmt::format("metric regressed? no{}",
                                       open.empty() ? "" : "; not decided: " + open));
  diagnosis.path.push_back(
      risks.empty() ? "risks: no cause is supported"
                    : fmt::format("risks: supported although nothing fails: {}",
                                  fmt::join(risks, ", ")));
}

}  // namespace

Diagnosis Diagnose(const Catalogue& catalogue, const Facts& facts,
                   const std::vector<FailedRequirement>& failed) {
  std::vector<FailedRequirement> violated;
  for (const FailedRequirement& f : failed) {
    if (f.verdict == base::Verdict::kViolated) violated.push_back(f);
  }
  Diagnosis diagnosis;
  diagnosis.regressed = !violated.empty();
  for (const Cause& cause : catalogue.causes) {
    diagnosis.causes.push_back(Evaluate(cause, facts, violated));
  }
  if (!diagnosis.regressed) {
    ConcludeWithoutRegression(failed, diagnosis);
    return diagnosis;
  }
  diagnosis.path.push_back("metric regressed? yes: " + DescribeFailures(failed, true));
  Walk(diagnosis).Run();
  diagnosis.path.push_back(fmt::format("first failing layer: {}", diagnosis.layer));
  return diagnosis;
}

}  // namespace stepslack::diagnose
