// Real traces of every case, damaged. An altered bit is refused by the digest, or, where the digest is made
// anew, by the kernel's sums. With sums, digest and count made anew too, a record that was dropped,
// repeated, exchanged with its neighbour or altered in one field is judged failed, unless it is one of the
// facts that nothing judges, which why_unjudged lists with the reason.
//
// usage: trace-mutation --root DIR [--count N] [--seed S] [--case NAME]
// The last lines are the rates. Exit code 0 only if every damage was caught that had to be.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/oracle/describe.h"
#include "tools/oracle/trace_file.h"
#include "tools/testbench/case.h"
#include "tools/testbench/judge.h"
#include "tools/testbench/runner.h"

namespace {

namespace fs = std::filesystem;
using namespace ravelin;
using abi::TraceKind;
using abi::TraceRecord;
using testbench::Verdict;

enum class Damage : std::uint8_t { dropped, repeated, exchanged, altered };
constexpr const char* kDamages[] = {"dropped", "repeated", "exchanged", "altered"};
enum class Part : std::uint8_t { x, y, id, entry, kind, hart, what };
constexpr const char* kParts[] = {"x", "y", "id", "entry", "kind", "hart", "what"};

/// Damages that may leave all judged facts as they were, and why.
struct Unjudged {
    const char* what;
    const char* why;
};
constexpr const char* kArm = "where a timer is set is told; what it leads to is judged";
constexpr const char* kThread = "which of a budget's threads it was is judged where a case asks";
constexpr const char* kOrder = "both are of one instant of one entry, and neither needs the other";
constexpr const char* kNoWeight = "a budget that dies or has no weight divides nothing by it again";
constexpr Unjudged kUnjudged[] = {
    {"dropped arm", kArm},
    {"repeated arm", kArm},
    {"altered x of arm", kArm},
    {"altered kind of arm", kArm},
    {"altered what of charge", "the word for a charge is for the figures; its payer is judged"},
    {"altered what of enter", "the number of a call is told; that it was one is judged"},
    {"altered y of runner", kThread},
    {"altered x of thread_end", kThread},
    {"altered y of thread_end", kThread},
    {"dropped thread_end", kThread},
    {"repeated thread_end", kThread},
    {"dropped counts", "another change of the counts follows before anything asks for them"},
    {"altered x of counts", "another change of the counts follows before anything asks for them"},
    {"altered id of thread_end", kThread},
    {"altered what of create below no account",
     "any may be given there; it is what shares are added up by, where one is asked"},
    {"dropped runner", "a hart that stays idle says so again"},
    {"altered kind of runner", "as dropped, where the other kind says nothing there"},
    {"altered x of destroy_begin",
     "when a destruction began is told; its order and its end are judged"},
    {"dropped freed", "what was freed bounds what may be zeroed, and not all of it is"},
    {"altered x of freed", "as dropped"},
    {"altered id of freed", "as dropped"},
    {"altered x of expire", "how late an item was found is a figure; that none is early is judged"},
    {"altered y of expire", "within its entry, when an item was found is a figure"},
    {"altered x of destroy_end", "within its entry, when a destruction ended is a figure"},
    {"altered y of answer", "within its entry, when a hart answered is a figure"},
    {"dropped expire", "another item of its payer stands in the same entry"},
    {"dropped charge", "the entry that ends the machine has no leave to add up to"},
    {"dropped rem", kNoWeight},
    {"altered id of rem", kNoWeight},
    {"altered x of rem", kNoWeight},
    {"altered y of rem", kNoWeight},
    {"altered x of lifted", kNoWeight},
    {"exchanged answer, charge", kOrder},
    {"exchanged arm, pass", kOrder},
    {"exchanged destroy_begin, expire", kOrder},
    {"exchanged charge, charge", kOrder},
    {"exchanged arm, charge", kOrder},
    {"exchanged charge, counts", kOrder},
    {"exchanged charge, claim", kOrder},
    {"exchanged charge, destroy_begin", kOrder},
    {"exchanged charge, destroy_end", kOrder},
    {"exchanged charge, expire", kOrder},
    {"exchanged charge, lock_wait", kOrder},
    {"exchanged charge, runner", kOrder},
    {"exchanged charge, thread_end", kOrder},
    {"exchanged freed, thread_end", kOrder},
    {"exchanged thread_end, thread_end", kOrder},
    {"exchanged charge, wake", kOrder},
    {"exchanged claim, counts", kOrder},
    {"exchanged counts, counts", kOrder},
    {"exchanged counts, expire", kOrder},
    {"exchanged counts, pass", kOrder},
    {"exchanged counts, runner", kOrder},
    {"exchanged counts, thread_end", kOrder},
    {"exchanged counts, wake", kOrder},
    {"exchanged destroy_begin, pass", kOrder},
    {"exchanged floor, out", kOrder},
    {"exchanged charge, pick", kOrder},
    {"exchanged pass, runner", kOrder},
    {"exchanged requeue, wake", kOrder},
    {"exchanged runner, zero", kOrder},
    {"exchanged charge, freed", kOrder},
    {"exchanged charge, zero", kOrder},
    {"exchanged counts, freed", kOrder},
    {"exchanged destroy_end, freed", kOrder},
    {"exchanged online, runner", kOrder},
    {"exchanged answer, counts", kOrder},
    {"exchanged answer, out", kOrder},
    {"exchanged answer, pass", kOrder},
    {"exchanged answer, thread_end", kOrder},
    {"exchanged freed, out", kOrder},
    {"exchanged freed, pass", kOrder},
    {"exchanged freed, requeue", kOrder},
    {"exchanged freed, runner", kOrder},
    {"exchanged freed, wake", kOrder},
    {"exchanged out, wake", kOrder},
    {"exchanged out, runner", kOrder},
};

struct Mutation {
    Damage damage = Damage::dropped;
    Part part = Part::x;  ///< of an alteration
    std::size_t place = 0;
    unsigned bit = 0;
};

struct Rate {
    unsigned tried = 0;
    unsigned caught = 0;
    unsigned unjudged = 0;  ///< passed over, and listed
};

std::string name_of(const TraceRecord& record) {
    return std::string(oracle::name_of(static_cast<TraceKind>(record.kind)));
}

/// The account that a budget was made with, 0 if it never was.
std::uint16_t account_of(const std::vector<TraceRecord>& records, std::uint64_t id) {
    for (const TraceRecord& record : records) {
        if (static_cast<TraceKind>(record.kind) == TraceKind::create && record.id == id) {
            return record.what;
        }
    }
    return 0;
}

/// What a damage is called in kUnjudged: "dropped arm", "altered y of runner", "exchanged charge, wake"
/// (in the order of their names). A child of an account has that one: only others can be told apart by it.
std::string class_of(const std::vector<TraceRecord>& records, const Mutation& m) {
    const std::string damage = kDamages[static_cast<std::size_t>(m.damage)];
    const std::string kind = name_of(records[m.place]);
    if (m.damage == Damage::altered) {
        const bool free = kind == "create" && m.part == Part::what &&
                          account_of(records, records[m.place].x) == 0;
        return fmt::format("{} {} of {}{}", damage, kParts[static_cast<std::size_t>(m.part)], kind,
                           free ? " below no account" : "");
    }
    if (m.damage == Damage::exchanged) {
        const std::string next = name_of(records[m.place + 1]);
        return fmt::format("{} {}, {}", damage, std::min(kind, next), std::max(kind, next));
    }
    return fmt::format("{} {}", damage, kind);
}

/// Why a damage may change no fact that is judged, or null.
const char* why_unjudged(const std::vector<TraceRecord>& records, const Mutation& mutation) {
    const std::string name = class_of(records, mutation);
    for (const auto& [known, why] : kUnjudged) {
        if (name == known) {
            return why;
        }
    }
    return nullptr;
}

std::vector<TraceRecord> mutated(const std::vector<TraceRecord>& records, const Mutation& m) {
    std::vector<TraceRecord> made = records;
    const auto at = made.begin() + static_cast<std::ptrdiff_t>(m.place);
    switch (m.damage) {
    case Damage::dropped:
        made.erase(at);
        --made.back().y;
        break;
    case Damage::repeated:
        made.insert(at, *at);
        ++made.back().y;
        break;
    case Damage::exchanged: std::iter_swap(at, at + 1); break;
    case Damage::altered: {
        const auto flip = [&](auto& field) {
            using Field = std::remove_reference_t<decltype(field)>;
            field = static_cast<Field>(field ^ (Field{1} << (m.bit % (8 * sizeof(Field)))));
        };
        switch (m.part) {
        case Part::x: flip(at->x); break;
        case Part::y: flip(at->y); break;
        case Part::id: flip(at->id); break;
        case Part::entry: flip(at->entry); break;
        case Part::kind: flip(at->kind); break;
        case Part::hart: flip(at->hart); break;
        case Part::what: flip(at->what); break;
        }
        break;
    }
    }
    return made;
}

void write(const fs::path& file, const std::vector<std::byte>& bytes) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> made(bytes.size());
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
}

class Mutations {
  public:
    Mutations(fs::path root, fs::path folder, unsigned count, std::uint64_t seed)
        : root_(std::move(root)), folder_(std::move(folder)), count_(count), seed_(seed) {}

    void damage(const testbench::Case& judged) {
        // Draws of its own: a new case changes no other's.
        std::seed_seq seeds(judged.name.begin(), judged.name.end());
        std::uint32_t own = 0;
        seeds.generate(&own, &own + 1);
        random_.seed(seed_ ^ own);
        testbench::RunPlan plan{.judged = &judged,
                                .port = testbench::Port::hosted,
                                .harts = judged.harts[random_() % judged.harts.size()],
                                .seed = 1,
                                .host_clock = false,
                                .root = root_,
                                .trace = folder_ / "trace"};
        const testbench::RunResult run = testbench::runner_for(plan.port)->run(plan);
        const testbench::Outcome sound = testbench::judge(plan, run, 1);
        if (sound.verdict != Verdict::pass && sound.verdict != Verdict::recorded) {
            miss(fmt::format("{} at {} harts is not sound: {}", judged.name, plan.harts,
                             sound.reason));
            return;
        }
        const std::vector<std::byte> file = read(plan.trace);
        alter_bits(judged.name, file);
        const oracle::Trace trace = *oracle::parse_trace(file).trace;
        for (const Damage kind :
             {Damage::dropped, Damage::repeated, Damage::exchanged, Damage::altered}) {
            for (unsigned i = 0; i < count_; ++i) {
                Mutation mutation;
                mutation.damage = kind;
                // Neither the first nor the last record: the end counts the others.
                mutation.place = 1 + random_() % (trace.records.size() - 3);
                mutation.part = static_cast<Part>(random_() % std::size(kParts));
                mutation.bit = static_cast<unsigned>(random_() % 64);
                judge(plan, run, trace, mutation);
            }
        }
        fmt::print("{} at {} harts, {} records\n", judged.name, plan.harts, trace.records.size());
        std::fflush(stdout);
    }

    /// Prints the rates. True if nothing was missed.
    bool report() const {
        fmt::print("{} altered bits, all refused but {}\n", bits_, bits_missed_);
        Rate all;
        for (const auto& [name, rate] : rates_) {
            fmt::print("{}: {} tried, {} caught, {} of facts that nothing judges\n", name,
                       rate.tried, rate.caught, rate.unjudged);
            all.tried += rate.tried;
            all.caught += rate.caught;
            all.unjudged += rate.unjudged;
        }
        for (const std::string& line : missed_) {
            fmt::print("MISSED {}\n", line);
        }
        fmt::print("{} damages, caught {} of {} that change a judged fact\n", all.tried, all.caught,
                   all.tried - all.unjudged);
        return missed_.empty() && all.tried > 0 && bits_ > 0;
    }

  private:
    fs::path root_;
    fs::path folder_;
    unsigned count_;
    std::uint64_t seed_;
    std::mt19937_64 random_;
    std::map<std::string, Rate> rates_;
    std::vector<std::string> missed_;
    unsigned bits_ = 0;
    unsigned bits_missed_ = 0;

    void miss(std::string line) { missed_.push_back(std::move(line)); }

    /// Bits anywhere in the file; then again with a digest that fits, in all that the kernel wrote.
    void alter_bits(const std::string& name, const std::vector<std::byte>& file) {
        std::vector<std::byte> altered = file;
        for (unsigned i = 0; i < 2 * count_; ++i) {
            const bool signs = i % 2 == 1;
            const std::size_t from = signs ? sizeof(abi::TraceHead) : 0;
            const std::size_t at = from + random_() % (file.size() - from);
            const std::byte bit = std::byte{1} << (random_() % 8);
            altered[at] ^= bit;
            if (signs) {
                const std::uint64_t digest = oracle::digest_of(altered);
                std::memcpy(altered.data() + offsetof(abi::TraceHead, digest), &digest,
                            sizeof(digest));
            }
            ++bits_;
            if (oracle::parse_trace(altered).trace) {
                ++bits_missed_;
                miss(fmt::format("{}: an altered bit of byte {}", name, at));
            }
            altered[at] ^= bit;
            std::memcpy(altered.data(), file.data(), sizeof(abi::TraceHead));
        }
    }

    void judge(const testbench::RunPlan& plan, const testbench::RunResult& run,
               const oracle::Trace& trace, const Mutation& mutation) {
        const TraceRecord& record = trace.records[mutation.place];
        const bool alters = mutation.damage == Damage::altered;
        Rate& rate = rates_[alters ? fmt::format("altered {}",
                                                 kParts[static_cast<std::size_t>(mutation.part)])
                                   : kDamages[static_cast<std::size_t>(mutation.damage)]];
        ++rate.tried;
        write(plan.trace, oracle::file_of(trace.head, mutated(trace.records, mutation)));
        if (testbench::judge(plan, run, 1).verdict == Verdict::fail) {
            ++rate.caught;
        } else if (why_unjudged(trace.records, mutation) != nullptr) {
            ++rate.unjudged;
        } else {
            miss(fmt::format("{} at {} harts: {}{}: {}", plan.judged->name, plan.harts,
                             class_of(trace.records, mutation),
                             alters ? fmt::format(", bit {}", mutation.bit) : std::string(),
                             oracle::describe(mutation.place, record)));
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Damages real traces and requires that each damage is noticed.");
    fs::path root;
    unsigned count = 5;
    std::uint64_t seed = 1;
    std::string only;
    app.add_option("--root", root, "the tree that cases and builds are in")->required();
    app.add_option("--count", count, "damages of each kind a case");
    app.add_option("--seed", seed, "what decides the damages");
    app.add_option("--case", only, "one case");
    CLI11_PARSE(app, argc, argv);

    std::string name = (fs::temp_directory_path() / "ravelin-mutation-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        return 1;
    }
    Mutations mutations(root, name, count, seed);
    for (const std::string& known : testbench::case_names(root / "tests" / "cases")) {
        auto loaded = testbench::load_case(root / "tests" / "cases" / (known + ".toml"));
        const auto* judged = std::get_if<testbench::Case>(&loaded);
        if (judged == nullptr) {
            fmt::print("{}\n", std::get<std::string>(loaded));
            return 1;
        }
        const bool here = std::find(judged->ports.begin(), judged->ports.end(),
                                    testbench::Port::hosted) != judged->ports.end();
        const bool traced = judged->checked && !judged->suite && !judged->host_clock &&
                            judged->slice_us == 1000 && judged->features.empty();
        if (here && traced && (only.empty() || only == known)) {
            mutations.damage(*judged);
        }
    }
    const bool good = mutations.report();
    fs::remove_all(name);
    return good ? 0 : 1;
}
