// Fields of the memos and the capsule in their fixed order and with their fixed names,
// so that Markdown and HTML can not disagree.
#pragma once

#include <string>
#include <vector>

#include "stepslack/evidence/review.h"

namespace stepslack::render {

struct DocumentField {
  std::string name;
  std::string value;
};

struct DocumentPart {
  std::string title;  // "1 Symptom"
  std::vector<DocumentField> fields;
};

std::vector<DocumentPart> MemoParts(const evidence::Review& review);
std::vector<DocumentField> DecisionFields(const evidence::Review& review);
std::vector<DocumentField> CapsuleFields(const evidence::Review& review);

}  // namespace stepslack::render
