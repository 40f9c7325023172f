#include "tools/viewers/trace_event.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "tools/oracle/describe.h"

namespace ravelin::viewers {

namespace {

using abi::TraceKind;
using abi::TraceRecord;
using nlohmann::json;

/// Processes of the format: tracks of one kind stand together.
constexpr int kUser = 1;
constexpr int kKernel = 2;

class Writer {
  public:
    Writer(const oracle::Trace& trace, std::ostream& out)
        : trace_(trace),
          out_(out),
          start_(trace.records.empty() ? 0 : trace.records[0].x),
          harts_(trace.head.harts) {}

    void write() {
        fmt::print(out_,
                   "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"timebase\":{},\"seed\":{}}},"
                   "\"traceEvents\":[\n",
                   trace_.head.timebase, trace_.head.seed);
        name_tracks();
        for (std::size_t place = 0; place < trace_.records.size(); ++place) {
            take(place, trace_.records[place]);
        }
        fmt::print(out_, "\n]}}\n");
    }

  private:
    /// What a hart does since its last record that says.
    struct Hart {
        std::uint64_t left = 0;    ///< when it left the kernel
        std::uint64_t budget = 0;  ///< whose code it runs since, 0: none
        std::uint64_t thread = 0;  ///< its runner, pid << 32 | tid
        std::size_t entered = 0;   ///< place of the entry it is in
        bool running = false;
        bool inside = false;
    };

    const oracle::Trace& trace_;
    std::ostream& out_;
    std::uint64_t start_;
    std::vector<Hart> harts_;
    std::map<std::uint64_t, std::uint16_t> accounts_;
    std::uint64_t now_ = 0;
    bool first_ = true;

    void put(const json& event) {
        out_ << (first_ ? "" : ",\n") << event;
        first_ = false;
    }

    double microseconds(std::uint64_t time) const {
        return static_cast<double>(time - start_) * 1e6 / static_cast<double>(trace_.head.timebase);
    }

    std::string name_of(std::uint64_t budget) const {
        const auto account = accounts_.find(budget);
        return account == accounts_.end() || account->second == 0
                   ? fmt::format("budget {}", budget)
                   : fmt::format("budget {} of account {}", budget, account->second);
    }

    void name_tracks() {
        const auto name = [this](const char* what, int process, unsigned track,
                                 const std::string& text) {
            put({{"ph", "M"},
                 {"name", what},
                 {"pid", process},
                 {"tid", track},
                 {"args", {{"name", text}}}});
        };
        name("process_name", kUser, 0, "user code");
        name("process_name", kKernel, 0, "kernel entries");
        for (unsigned hart = 0; hart < trace_.head.harts; ++hart) {
            for (const int process : {kUser, kKernel}) {
                name("thread_name", process, hart, fmt::format("hart {}", hart));
            }
        }
    }

    void span(int process, unsigned hart, const std::string& name, std::uint64_t from,
              std::uint64_t to, json arguments) {
        put({{"ph", "X"},
             {"name", name},
             {"cat", process == kUser ? "user" : "kernel"},
             {"pid", process},
             {"tid", hart},
             {"ts", microseconds(from)},
             {"dur", microseconds(to) - microseconds(from)},
             {"args", std::move(arguments)}});
    }

    void instant(std::size_t place, const TraceRecord& record) {
        put({{"ph", "i"},
             {"s", "t"},
             {"name", std::string(oracle::name_of(static_cast<TraceKind>(record.kind)))},
             {"cat", "event"},
             {"pid", kKernel},
             {"tid", record.hart},
             {"ts", microseconds(now_)},
             {"args",
              {{"budget", name_of(record.id)}, {"record", oracle::describe(place, record)}}}});
    }

    void enter(std::size_t place, const TraceRecord& record) {
        Hart& hart = harts_[record.hart];
        now_ = record.y;
        if (hart.running && record.x > hart.left) {
            span(kUser, record.hart, name_of(hart.budget), hart.left, record.x,
                 {{"thread", fmt::format("{}.{}", hart.thread >> 32, hart.thread & 0xffff'ffff)}});
        }
        hart.running = false;
        hart.entered = place;
        hart.inside = true;
    }

    void leave(const TraceRecord& record) {
        Hart& hart = harts_[record.hart];
        now_ = record.x;
        if (hart.inside) {
            const TraceRecord& entered = trace_.records[hart.entered];
            const auto cause = static_cast<abi::TraceCause>(entered.what & 0xff);
            const std::string name = cause == abi::TraceCause::call
                                         ? fmt::format("call {}", entered.what >> 8)
                                         : std::string(oracle::name_of(cause));
            span(kKernel, record.hart, name, entered.x, record.x,
                 {{"entry", record.entry},
                  {"left",
                   std::string(oracle::name_of(static_cast<abi::TraceLeave>(record.what)))}});
            if (entered.y > entered.x) {
                span(kKernel, record.hart, "to the lock", entered.x, entered.y, json::object());
            }
        }
        hart.inside = false;
        hart.left = record.x;
        hart.budget = record.id;
        hart.running = record.id != 0;
    }

    void take(std::size_t place, const TraceRecord& record) {
        if (record.hart >= harts_.size()) {
            return;
        }
        switch (static_cast<TraceKind>(record.kind)) {
        case TraceKind::enter: enter(place, record); break;
        case TraceKind::leave: leave(record); break;
        case TraceKind::runner: harts_[record.hart].thread = record.y; break;
        case TraceKind::create:
            accounts_[record.id] = record.what;
            instant(place, record);
            break;
        case TraceKind::start:
        case TraceKind::online:
            now_ = record.x;
            instant(place, record);
            break;
        case TraceKind::wake:
        case TraceKind::uncap:
        case TraceKind::destroy_begin:
        case TraceKind::destroy_end:
        case TraceKind::expire:
        case TraceKind::thread_end:
        case TraceKind::claim:
        case TraceKind::end: instant(place, record); break;
        default: break;
        }
    }
};

}  // namespace

void write_trace_events(const oracle::Trace& trace, std::ostream& out) {
    Writer(trace, out).write();
}

}  // namespace ravelin::viewers
