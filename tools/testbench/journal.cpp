#include "tools/testbench/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/testbench/report.h"
#include "tools/testbench/results.h"

namespace ravelin::testbench {

namespace {

using nlohmann::json;

std::uint64_t fnv(std::string_view bytes) {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100'0000'01b3;
    }
    return hash;
}

void append_line(const std::filesystem::path& file, const std::string& line) {
    std::ofstream out(file, std::ios::app | std::ios::binary);
    out << line << '\n';
    if (!out.flush()) {
        throw std::runtime_error(fmt::format("cannot write {}", file.string()));
    }
}

}  // namespace

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
    std::error_code ignored;
    if (file_.has_parent_path()) {
        std::filesystem::create_directories(file_.parent_path(), ignored);
    }
    lock_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_ < 0) {
        throw WrongUse(fmt::format("cannot write {}", file_.string()));
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        close(lock_);
        throw WrongUse(fmt::format("another bench writes {}", file_.string()));
    }
    std::ifstream in(file_, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
        try {
            const json entry = json::parse(line);
            Kept kept{.digest = entry.at("digest"), .outcome = outcome_of(entry.at("result"))};
            const std::string key = entry.at("key");
            seconds_[key] = kept.outcome.wall_s;
            kept_[key] = std::move(kept);
        } catch (const json::exception&) {
            continue;  // of another version, or cut short
        }
    }
}

Journal::~Journal() {
    close(lock_);
}

std::string Journal::digest_of(const RunPlan& plan) {
    std::vector<std::filesystem::path> files = runner_for(plan.port)->files(plan);
    files.push_back(plan.judged->file);
    std::string digest;
    for (const std::filesystem::path& file : files) {
        auto known = digests_.find(file);
        if (known == digests_.end()) {
            std::error_code error;
            const std::string text =
                std::filesystem::exists(file, error) ? read_file(file) : std::string();
            known = digests_.emplace(file, fmt::format("{:016x}", fnv(text))).first;
        }
        digest += (digest.empty() ? "" : " ") + known->second;
    }
    return digest;
}

const Outcome* Journal::find(const RunPlan& plan) {
    const auto found = kept_.find(key_of(plan));
    return found == kept_.end() || found->second.outcome.verdict == Verdict::notrun ||
                   found->second.digest != digest_of(plan)
               ? nullptr
               : &found->second.outcome;
}

bool Journal::failed(const RunPlan& plan) const {
    const auto found = kept_.find(key_of(plan));
    return found != kept_.end() && found->second.outcome.verdict != Verdict::pass &&
           found->second.outcome.verdict != Verdict::recorded;
}

std::optional<double> Journal::seconds(const RunPlan& plan) const {
    const auto found = seconds_.find(key_of(plan));
    return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::clear() {
    kept_.clear();
    if (ftruncate(lock_, 0) != 0) {
        throw std::runtime_error(fmt::format("cannot empty {}", file_.string()));
    }
}

void Journal::add(const RunPlan& plan, const Outcome& outcome) {
    const std::string digest = digest_of(plan);
    append_line(
        file_,
        json{{"key", key_of(plan)}, {"digest", digest}, {"result", json_of(outcome, true)}}.dump());
    kept_[key_of(plan)] = {.digest = digest, .outcome = outcome};
}

void add_history(const std::filesystem::path& file, const std::string& commit,
                 const std::vector<Outcome>& outcomes) {
    json runs = json::array();
    for (const Outcome& outcome : outcomes) {
        const Nearest nearest = nearest_of(outcome);
        runs.push_back(
            {{"case", outcome.name},
             {"port", name_of(outcome.port)},
             {"harts", outcome.harts},
             {"seed", outcome.seed},
             {"clock", outcome.clock},
             {"verdict", name_of(outcome.verdict)},
             {"nearest", nearest.found ? json(nearest.figure) : json(nullptr)},
             {"margin", nearest.found ? json(std::round(nearest.relative * 1000.0) / 1000.0)
                                      : json(nullptr)}});
    }
    append_line(file, json{{"when", static_cast<std::int64_t>(std::time(nullptr))},
                           {"commit", commit},
                           {"runs", std::move(runs)}}
                          .dump());
}

}  // namespace ravelin::testbench
