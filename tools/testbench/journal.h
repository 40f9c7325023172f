// The journal: what a bench has finished, a line a run, so that it can go on where it was ended and run
// only its failures again.
//
// A line holds the run's key, the digest of everything that decides it (kernel, program, case file) and
// its whole result. A result of other bytes than today's is not taken over. A line that was cut short
// by the bench's end is passed over. One bench at a time writes a journal.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/testbench/judge.h"
#include "tools/testbench/plan.h"

namespace ravelin::testbench {

class Journal {
  public:
    /// Reads the file, if it is there, and takes it for this process. Throws WrongUse if another bench
    /// has it.
    explicit Journal(std::filesystem::path file);
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    ~Journal();

    bool empty() const { return kept_.empty(); }

    /// The finished result of a plan, if it is of the same bytes.
    const Outcome* find(const RunPlan& plan);

    /// Did the plan run and not pass, whatever the bytes were?
    bool failed(const RunPlan& plan) const;

    /// Seconds the plan took, if it ever ran.
    std::optional<double> seconds(const RunPlan& plan) const;

    /// Forgets what it has; the times that runs took stay known.
    void clear();

    void add(const RunPlan& plan, const Outcome& outcome);

  private:
    struct Kept {
        std::string digest;
        Outcome outcome;
    };

    std::filesystem::path file_;
    int lock_ = -1;
    std::map<std::string, Kept> kept_;
    std::map<std::string, double> seconds_;
    std::map<std::filesystem::path, std::string> digests_;

    std::string digest_of(const RunPlan& plan);
};

/// One line more in the folder's history: verdict and nearest figure of each run, with the commit.
void add_history(const std::filesystem::path& file, const std::string& commit,
                 const std::vector<Outcome>& outcomes);

}  // namespace ravelin::testbench
