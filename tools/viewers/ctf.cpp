#include "tools/viewers/ctf.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/oracle/describe.h"

namespace ravelin::viewers {

namespace {

using abi::TraceKind;
using abi::TraceRecord;

/// Where a field of an event comes from.
enum class From : std::uint8_t { x, y, what, cause, call, leave, charge, expiry };

struct Field {
    std::string_view name;
    From from;
};

struct Event {
    TraceKind kind;
    std::vector<Field> fields;
};

const std::vector<Event>& events() {
    static const std::vector<Field> pass = {{"pass_low", From::x}, {"pass_high", From::y}};
    static const std::vector<Event> all = {
        {TraceKind::enter,
         {{"trapped", From::x}, {"locked", From::y}, {"cause", From::cause}, {"call", From::call}}},
        {TraceKind::leave, {{"returned", From::x}, {"slice_end", From::y}, {"how", From::leave}}},
        {TraceKind::wake, pass},
        {TraceKind::requeue, pass},
        {TraceKind::out,
         {{"pass_low", From::x}, {"pass_high", From::y}, {"destroyed", From::what}}},
        {TraceKind::pass, pass},
        {TraceKind::pick, pass},
        {TraceKind::uncap, pass},
        {TraceKind::floor, {{"floor_low", From::x}, {"floor_high", From::y}}},
        {TraceKind::counts, {{"waiting", From::x}, {"running", From::y}}},
        {TraceKind::runner, {{"weight", From::x}, {"thread", From::y}}},
        {TraceKind::charge, {{"ticks", From::x}, {"weight", From::y}, {"of", From::charge}}},
        {TraceKind::top_up, {{"ticks", From::x}}},
        {TraceKind::create, {{"parent", From::x}, {"weight", From::y}, {"account", From::what}}},
        {TraceKind::entry_pass, pass},
        {TraceKind::reweigh, {{"before", From::x}, {"after", From::y}}},
        {TraceKind::reweighed, pass},
        {TraceKind::rem, {{"remainder", From::x}, {"weight", From::y}}},
        {TraceKind::lift, {{"parent", From::x}, {"weight", From::y}}},
        {TraceKind::lift_work, {{"work_low", From::x}, {"work_high", From::y}}},
        {TraceKind::lifted, pass},
        {TraceKind::destroy_begin, {{"time", From::x}, {"by_deadline", From::what}}},
        {TraceKind::destroy_end, {{"time", From::x}}},
        {TraceKind::expire, {{"due", From::x}, {"found", From::y}, {"of", From::expiry}}},
        {TraceKind::arm, {{"time", From::x}}},
        {TraceKind::lock_wait, {{"ticks", From::x}, {"ahead", From::y}}},
        {TraceKind::thread_end, {{"pid", From::x}, {"tid", From::y}}},
        {TraceKind::start, {{"time", From::x}, {"timebase", From::y}, {"harts", From::what}}},
        {TraceKind::online, {{"time", From::x}}},
        {TraceKind::end, {{"time", From::x}, {"records", From::y}, {"how", From::what}}},
        {TraceKind::claim, {{"source", From::x}}},
        {TraceKind::freed, {{"frames", From::x}}},
        {TraceKind::zero, {{"owed_by", From::x}}},
        {TraceKind::answer, {{"ticks", From::x}, {"began", From::y}}},
    };
    return all;
}

std::string_view type_of(From from) {
    switch (from) {
    case From::x:
    case From::y: return "uint64_t";
    case From::what: return "uint16_t";
    case From::cause: return "enum cause";
    case From::call: return "uint8_t";
    case From::leave: return "enum how";
    case From::charge: return "enum charge";
    case From::expiry: return "enum expiry";
    }
    return "";
}

/// An enumeration of all numbers up to `most` that have a name.
template <class Kind>
std::string enumeration(const char* name, unsigned most) {
    std::string text = fmt::format("enum {} : uint8_t {{", name);
    const char* separator = " ";
    for (unsigned number = 0; number <= most; ++number) {
        if (const std::string_view word = oracle::name_of(static_cast<Kind>(number)); word != "?") {
            text += fmt::format("{}\"{}\" = {}", separator, word, number);
            separator = ", ";
        }
    }
    return text + " };\n";
}

constexpr std::string_view kTypes = R"(
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;

trace {
    major = 1;
    minor = 8;
    byte_order = le;
    packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
)";

constexpr std::string_view kStream = R"(
stream {
    id = 0;
    packet.context := struct {
        ticks_t timestamp_begin;
        ticks_t timestamp_end;
        uint64_t content_size;
        uint64_t packet_size;
        uint64_t events_discarded;
    };
    event.header := struct { uint8_t id; ticks_t timestamp; };
    event.context := struct { uint64_t record; uint32_t entry; uint8_t hart; uint64_t budget; };
};
)";

std::string metadata_of(const oracle::Trace& trace) {
    constexpr unsigned kMostNumber = 64;
    std::string text = "/* CTF 1.8 */\n";
    text += kTypes;
    text += fmt::format("\nenv {{ tracer_name = \"ravelin\"; harts = {}; seed = {}; "
                        "slice_ticks = {}; }};\n",
                        trace.head.harts, trace.head.seed, trace.head.slice_ticks);
    text += fmt::format("\nclock {{ name = ticks; freq = {}; offset = 0; }};\n"
                        "typealias integer {{ size = 64; align = 8; signed = false; "
                        "map = clock.ticks.value; }} := ticks_t;\n\n",
                        trace.head.timebase);
    text += enumeration<abi::TraceCause>("cause", kMostNumber);
    text += enumeration<abi::TraceLeave>("how", kMostNumber);
    text += enumeration<abi::TraceCharge>("charge", kMostNumber);
    text += enumeration<abi::TraceExpiry>("expiry", kMostNumber);
    text += kStream;
    for (const Event& event : events()) {
        text += fmt::format("\nevent {{\n    id = {};\n    name = \"{}\";\n    stream_id = 0;\n"
                            "    fields := struct {{",
                            static_cast<unsigned>(event.kind), oracle::name_of(event.kind));
        for (const Field& field : event.fields) {
            text += fmt::format(" {} {};", type_of(field.from), field.name);
        }
        text += " };\n};\n";
    }
    return text;
}

/// Little-endian numbers without padding.
class Bytes {
  public:
    template <class Number>
    void put(Number number) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof(number));
        std::memcpy(bytes_.data() + at, &number, sizeof(number));
    }

    template <class Number>
    void set(std::size_t at, Number number) {
        std::memcpy(bytes_.data() + at, &number, sizeof(number));
    }

    std::size_t size() const { return bytes_.size(); }
    const std::vector<char>& all() const { return bytes_; }

  private:
    std::vector<char> bytes_;
};

void put_field(Bytes& bytes, From from, const TraceRecord& record) {
    switch (from) {
    case From::x: bytes.put(record.x); break;
    case From::y: bytes.put(record.y); break;
    case From::what: bytes.put(record.what); break;
    case From::call: bytes.put(static_cast<std::uint8_t>(record.what >> 8)); break;
    case From::cause:
    case From::leave:
    case From::charge:
    case From::expiry: bytes.put(static_cast<std::uint8_t>(record.what)); break;
    }
}

Bytes stream_of(const oracle::Trace& trace) {
    constexpr std::uint32_t kMagic = 0xc1fc'1fc1;
    std::vector<const Event*> by_kind(256, nullptr);
    for (const Event& event : events()) {
        by_kind[static_cast<std::size_t>(event.kind)] = &event;
    }
    Bytes bytes;
    bytes.put(kMagic);
    bytes.put(std::uint32_t{0});
    const std::size_t context = bytes.size();
    for (int i = 0; i < 5; ++i) {
        bytes.put(std::uint64_t{0});
    }
    std::uint64_t now = trace.records.empty() ? 0 : trace.records[0].x;
    bytes.set(context, now);
    for (std::size_t place = 0; place < trace.records.size(); ++place) {
        const TraceRecord& record = trace.records[place];
        switch (static_cast<TraceKind>(record.kind)) {
        case TraceKind::enter: now = std::max(now, record.y); break;
        case TraceKind::leave:
        case TraceKind::online:
        case TraceKind::end: now = std::max(now, record.x); break;
        default: break;
        }
        const Event* event = by_kind[record.kind];
        if (event == nullptr) {
            continue;  // a kind that the oracle refuses has no name
        }
        bytes.put(record.kind);
        bytes.put(now);
        bytes.put(static_cast<std::uint64_t>(place));
        bytes.put(record.entry);
        bytes.put(record.hart);
        bytes.put(record.id);
        for (const Field& field : event->fields) {
            put_field(bytes, field.from, record);
        }
    }
    bytes.set(context + 8, now);
    bytes.set(context + 16, static_cast<std::uint64_t>(bytes.size()) * 8);
    bytes.set(context + 24, static_cast<std::uint64_t>(bytes.size()) * 8);
    return bytes;
}

void write(const std::filesystem::path& file, const char* data, std::size_t size) {
    std::ofstream out(file, std::ios::binary);
    out.write(data, static_cast<std::streamsize>(size));
    if (!out.flush()) {
        throw std::runtime_error(fmt::format("cannot write {}", file.string()));
    }
}

}  // namespace

void write_ctf(const oracle::Trace& trace, const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const std::string metadata = metadata_of(trace);
    write(folder / "metadata", metadata.data(), metadata.size());
    const Bytes stream = stream_of(trace);
    write(folder / "stream", stream.all().data(), stream.size());
}

}  // namespace ravelin::viewers
