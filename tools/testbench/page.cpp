#include "tools/testbench/page.h"

#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/testbench/results.h"

namespace ravelin::testbench {

namespace {

using nlohmann::json;

/// Earlier benches that the page shows.
constexpr std::size_t kMostHistory = 60;

/// JSON that may stand inside a script element: no `</` and no comment's beginning in it.
std::string for_script(const json& value) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) {
        text.replace(at, 1, "\\u003c");
    }
    return text;
}

void put(std::string& page, const std::string& place, const std::string& text) {
    const std::string mark = "<!--" + place + "-->";
    const std::size_t at = page.find(mark);
    if (at == std::string::npos) {
        throw std::runtime_error(fmt::format("the page has no place for {}", place));
    }
    page.replace(at, mark.size(), text);
}

json history_of(const std::filesystem::path& file) {
    std::vector<json> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        json entry = json::parse(line, nullptr, false);
        if (!entry.is_discarded()) {
            lines.push_back(std::move(entry));
        }
    }
    json last = json::array();
    for (std::size_t i = lines.size() - std::min(lines.size(), kMostHistory); i < lines.size();
         ++i) {
        last.push_back(std::move(lines[i]));
    }
    return last;
}

json recorded_of(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
        return nullptr;
    }
    return json::parse(read_file(file));
}

}  // namespace

void check_parts(const PageParts& parts) {
    for (const auto& file :
         {parts.page / "page.html", parts.page / "page.css", parts.page / "page.js",
          parts.packages / "uplot/dist/uPlot.iife.min.js",
          parts.packages / "uplot/dist/uPlot.min.css"}) {
        if (!std::filesystem::exists(file)) {
            throw std::runtime_error(fmt::format("the report needs {}", file.string()));
        }
    }
}

std::string page_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root,
                    const PageParts& parts) {
    json data = set_of(outcomes, root, true);
    data["percentiles"] = kPercentiles;
    data["history"] = history_of(parts.history);
    data["recorded"] = recorded_of(parts.recorded);
    std::string page = read_file(parts.page / "page.html");
    put(page, "plot style", read_file(parts.packages / "uplot/dist/uPlot.min.css"));
    put(page, "style", read_file(parts.page / "page.css"));
    put(page, "plot script", read_file(parts.packages / "uplot/dist/uPlot.iife.min.js"));
    put(page, "script", read_file(parts.page / "page.js"));
    put(page, "data", for_script(data));
    return page;
}

}  // namespace ravelin::testbench
