// Style sheets of the figures. Colours are custom properties, so that the page, a
// figure that stands alone, the dark scheme and print share one definition. The palette
// is that of Okabe and Ito without its three hues that fail a contrast of 3:1 on white.
#pragma once

#include "html_writer.h"

namespace stepslack::render {

inline constexpr TrustedText kColourCss =
    ":root{color-scheme:light dark;--paper:#fff;--panel:#f6f8fa;--ink:#1b1f24;"
    "--muted:#57606a;--rule:#d0d7de;--grid:#e4e8ed;--c0:#0072b2;--c1:#d55e00;"
    "--c2:#009e73;--c3:#cc79a7;--c4:#3d444d;--good:#00704f;--bad:#b04a00;"
    "--hold:#8a4f76;--link:#0061a0}"
    "@media screen and (prefers-color-scheme:dark){:root{--paper:#121417;"
    "--panel:#1b1f24;--ink:#e6e9ec;--muted:#a3acb6;--rule:#3b424a;--grid:#2b3138;"
    "--c0:#4ba3e3;--c1:#e8772e;--c2:#1fb58a;--c3:#d98cb6;--c4:#c3cad2;"
    "--good:#35c79b;--bad:#f08a4b;--hold:#dd9cc0;--link:#6db8f2}}";

// The same for a figure in a file of its own, whose root is the svg element.
inline constexpr TrustedText kStandaloneCss = kColourCss;

inline constexpr TrustedText kChartCss =
    ".chart{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',"
    "Arial,sans-serif;font-size:12px}"
    ".chart text{fill:var(--ink);font-variant-numeric:tabular-nums}"
    ".chart text.muted{fill:var(--muted)}.chart "
    "text.title{font-size:15px;font-weight:600}"
    ".chart text.strong{font-weight:600}"
    ".chart text.halo{stroke:var(--paper);stroke-width:3.5px;stroke-linejoin:round;"
    "paint-order:stroke}"
    ".chart .paper{fill:var(--paper)}"
    ".chart .c0{--c:var(--c0)}.chart .c1{--c:var(--c1)}.chart .c2{--c:var(--c2)}"
    ".chart .c3{--c:var(--c3)}.chart .c4{--c:var(--c4)}"
    ".chart .fill{fill:var(--c)}"
    ".chart .hatch{fill:none;stroke:var(--paper);stroke-width:1.3;stroke-opacity:.85}"
    ".chart .edge{stroke:var(--ink);stroke-width:.6;stroke-opacity:.55}"
    ".chart .axis{fill:none;stroke:var(--muted);stroke-width:1}"
    ".chart .gridline{fill:none;stroke:var(--grid);stroke-width:1}"
    ".chart .line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}"
    ".chart .fine{stroke-width:1.4}.chart .dashed{stroke-dasharray:7 4}.chart "
    ".dotted{stroke-dasharray:2 3}"
    ".chart .marker{fill:var(--c);stroke:var(--c);stroke-width:1.4}"
    ".chart .whisker{fill:none;stroke:var(--c);stroke-width:1.4}"
    ".chart .band{fill:var(--c);fill-opacity:.16;stroke:none}"
    ".chart .reference{fill:none;stroke:var(--ink);stroke-width:1.3;"
    "stroke-dasharray:10 3 2 3}"
    ".chart .target{fill:var(--c2);fill-opacity:.13;stroke:none}"
    ".chart "
    ".target-edge{fill:none;stroke:var(--c2);stroke-width:1.2;stroke-dasharray:3 3}"
    ".chart .leader{fill:none;stroke:var(--muted);stroke-width:.8}"
    ".chart .interval{fill:none;stroke:var(--paper);stroke-width:3.4;stroke-opacity:.6}"
    ".chart .interval-ink{fill:none;stroke:var(--ink);stroke-width:1.6}"
    ".chart .pixels{image-rendering:pixelated}"
    ".chart .frame{fill:none;stroke:var(--muted);stroke-width:1}"
    ".chart .peak-under{fill:none;stroke:#fff;stroke-width:3.5}"
    ".chart .peak{fill:none;stroke:#000;stroke-width:1.5}";

}  // namespace stepslack::render
