// Holds the directions in which the rooms may include each other.
//
// Rule: DESIGN's dependencies point one way. stride <- sched <- entry; the other rooms of the core
// know sched by its public header alone; the core knows no port; what judges the core (the oracle,
// the model) and what runs on it (user) share core/abi with it and nothing else.
// Invariant: each include line is judged by the rule of the innermost room that holds the file.
// Bound: direct includes are judged, one pass over the sources. Because every allowed target is
// itself under a rule, a room cannot reach what it may not through another room's header.
//
// Usage: include-check ROOT STD-HEADERS, where STD-HEADERS lists the standard headers of the core.
// Exit code: 0 if all is well, 1 with one line per wrong include, 2 if it could not look.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The rule of one room. `may` lists prefixes of include paths, "+" allowed and "-" refused; the
// longest prefix that fits an include decides, and an include that none fits is refused.
struct Rule {
    std::string_view room;
    std::vector<std::string_view> may;
    bool freestanding;  // angle brackets only for the listed standard headers
};

// What the rooms of the core that sit beside sched may include.
const std::vector<std::string_view> kBesideSched = {"+core/", "-core/entry/", "-core/sched/",
                                                    "+core/sched/sched.h", "+ravelin_port.h"};

const std::vector<Rule> kRules = {
    {"core/", {"+core/", "+ravelin_port.h"}, true},
    {"core/abi/", {"+core/abi/"}, true},
    {"core/stride/",
     {"+core/stride/", "+core/abi/", "+core/types.h", "+core/assert.h", "+core/planted.h"},
     true},
    {"core/sched/", {"+core/", "-core/entry/", "+ravelin_port.h"}, true},
    {"core/object/", kBesideSched, true},
    {"core/memory/", kBesideSched, true},
    {"core/ipc/", kBesideSched, true},
    {"core/time/", kBesideSched, true},
    {"port-hosted/", {"+", "-port-riscv/"}, false},
    {"port-riscv/", {"+", "-port-hosted/"}, false},
    {"tests/model/", {"+tests/model/", "+core/abi/"}, false},
    {"tools/oracle/", {"+tools/oracle/", "+core/abi/"}, false},
    {"user/", {"+user/", "+core/abi/"}, false},
};

// The rule of the innermost room that holds `file`, or nullptr where anything goes.
const Rule* rule_of(std::string_view file) {
    const Rule* found = nullptr;
    for (const Rule& rule : kRules) {
        if (file.starts_with(rule.room) && (!found || rule.room.size() > found->room.size())) {
            found = &rule;
        }
    }
    return found;
}

bool allows(const Rule& rule, std::string_view included) {
    bool allowed = false;
    std::size_t longest = 0;
    for (std::string_view entry : rule.may) {
        std::string_view prefix = entry.substr(1);
        if (included.starts_with(prefix) && prefix.size() >= longest) {
            longest = prefix.size();
            allowed = entry.front() == '+';
        }
    }
    return allowed;
}

bool is_source(const fs::path& path) {
    static const std::set<std::string> kEndings = {".h", ".hpp", ".cpp", ".S", ".inc"};
    return kEndings.contains(path.extension().string());
}

class Checker {
  public:
    Checker(fs::path root, std::set<std::string> std_headers)
        : root_(std::move(root)), std_headers_(std::move(std_headers)) {}

    // Judges every source of every room that has a rule.
    void check_all() {
        std::set<std::string> rooms;
        for (const Rule& rule : kRules) {
            rooms.insert(std::string(rule.room));
        }
        for (const std::string& room : rooms) {
            bool inside_another = std::any_of(rooms.begin(), rooms.end(), [&](const auto& other) {
                return other != room && room.starts_with(other);
            });
            if (!inside_another && fs::is_directory(root_ / room)) {
                check_room(root_ / room);
            }
        }
    }

    int files() const { return files_; }
    int wrong() const { return wrong_; }

  private:
    void check_room(const fs::path& room) {
        std::vector<fs::path> sources;
        for (const auto& entry : fs::recursive_directory_iterator(room)) {
            if (entry.is_regular_file() && is_source(entry.path())) {
                sources.push_back(entry.path());
            }
        }
        std::sort(sources.begin(), sources.end());
        for (const fs::path& source : sources) {
            check_file(source);
        }
    }

    void check_file(const fs::path& path) {
        static const std::regex kInclude(R"(^\s*#\s*include\s*(.*?)\s*(//.*)?$)");
        static const std::regex kAngle(R"(^<([^>]+)>$)");
        static const std::regex kQuote(R"(^"([^"]+)\"$)");
        const std::string file = path.lexically_relative(root_).generic_string();
        const Rule& rule = *rule_of(file);
        ++files_;

        std::ifstream in(path);
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            std::smatch include;
            std::smatch name;
            if (!std::regex_match(line, include, kInclude)) {
                continue;
            }
            const std::string target = include[1];
            if (std::regex_match(target, name, kAngle)) {
                if (rule.freestanding && !std_headers_.contains(name[1])) {
                    report(file, number, rule, target, "it is not a standard header of the core");
                }
            } else if (std::regex_match(target, name, kQuote)) {
                check_quoted(path, file, number, rule, name[1]);
            } else {
                report(file, number, rule, target, "a computed include cannot be judged");
            }
        }
    }

    // A quoted path counts from the root of the tree or, outside the core, from the file's folder.
    void check_quoted(const fs::path& path, const std::string& file, int number, const Rule& rule,
                      const std::string& name) {
        fs::path full = name;
        if (!rule.freestanding && fs::exists(path.parent_path() / name)) {
            full = path.lexically_relative(root_).parent_path() / name;
        }
        const std::string included = full.lexically_normal().generic_string();
        if (!allows(rule, included)) {
            report(file, number, rule, included, "the room may not know it");
        }
    }

    void report(const std::string& file, int number, const Rule& rule, std::string_view target,
                std::string_view why) {
        std::cout << file << ':' << number << ": " << rule.room << " includes " << target << ": "
                  << why << '\n';
        ++wrong_;
    }

    fs::path root_;
    std::set<std::string> std_headers_;
    int files_ = 0;
    int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: include-check ROOT STD-HEADERS\n";
        return 2;
    }
    std::ifstream list(argv[2]);
    std::set<std::string> std_headers;
    for (std::string header; list >> header;) {
        std_headers.insert(header);
    }
    if (std_headers.empty()) {
        std::cerr << "include-check: no standard headers in " << argv[2] << '\n';
        return 2;
    }
    Checker checker(argv[1], std_headers);
    checker.check_all();
    if (checker.files() == 0) {
        std::cerr << "include-check: no sources under " << argv[1] << '\n';
        return 2;
    }
    std::cout << "include-check: " << checker.files() << " files, " << checker.wrong()
              << " wrong includes\n";
    return checker.wrong() == 0 ? 0 : 1;
}
