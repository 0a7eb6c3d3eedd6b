// Commands with places for values: "train.py --lr {lr}"; "{{" and "}}" are braces.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/study/study_file.h"

namespace stepslack::study {

// Names in braces. STUDY-0200: a brace without its other half, or an empty name.
base::Result<std::set<std::string>> Placeholders(std::string_view text);

// The first name that stands inside quotes, where a value would be taken apart or get
// quotes of its own; "" when there is none.
std::string QuotedPlaceholder(std::string_view text);

// As one word of the shell: quoted where it would be taken apart.
std::string ShellWord(std::string_view text);

// Puts the values in; texts that the shell would take apart are quoted for it. A name
// without a value stays as it is (Placeholders tells before).
std::string FillIn(std::string_view text, const Settings& values);

}  // namespace stepslack::study
