#include "tools/oracle/trace_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "tools/oracle/describe.h"

namespace ravelin::oracle {

namespace {

constexpr char kMagic[] = "RAVTRACE";

TraceResult refuse(std::string reason) {
    return {.trace = std::nullopt, .refusal = std::move(reason)};
}

}  // namespace

namespace {

/// Which fields a kind gives a meaning, and the most and the least that `what` can be.
struct Meaning {
    bool id = true;
    bool x = true;
    bool y = true;
    std::uint16_t what = 0;
    std::uint16_t least = 0;
};

Meaning meaning_of(const abi::TraceRecord& record) {
    using abi::TraceKind;
    constexpr std::uint16_t kAny = 0xffff;
    switch (static_cast<TraceKind>(record.kind)) {
    case TraceKind::enter: {
        const bool call = (record.what & 0xff) == static_cast<unsigned>(abi::TraceCause::call);
        return {.what = call ? kAny : static_cast<std::uint16_t>(abi::TraceCause::boot),
                .least = 1};
    }
    case TraceKind::leave:
        return {.y = record.id != 0,
                .what = static_cast<std::uint16_t>(abi::TraceLeave::from_idle),
                .least = 1};
    case TraceKind::runner: return {.x = record.id != 0, .y = record.id != 0};
    case TraceKind::charge:
        return {.y = record.id != 0,
                .what = static_cast<std::uint16_t>(abi::TraceCharge::audit_wait),
                .least = 1};
    case TraceKind::expire:
        return {.what = static_cast<std::uint16_t>(abi::TraceExpiry::deadline), .least = 1};
    case TraceKind::create: return {.what = kAny};
    case TraceKind::out: return {.what = 1};
    case TraceKind::destroy_begin: return {.y = false, .what = 1};
    case TraceKind::destroy_end:
    case TraceKind::top_up:
    case TraceKind::freed:
    case TraceKind::zero:
    case TraceKind::claim: return {.y = false};
    case TraceKind::floor:
    case TraceKind::answer: return {.id = false};
    case TraceKind::arm:
    case TraceKind::online: return {.id = false, .y = false};
    case TraceKind::start: return {.id = false, .what = kAny};
    case TraceKind::end: return {.id = false, .what = 3};
    default: return {};
    }
}

/// Does a field hold something that its kind gives no meaning?
bool has_stray_field(const abi::TraceRecord& record) {
    const Meaning meaning = meaning_of(record);
    return (!meaning.id && record.id != 0) || (!meaning.x && record.x != 0) ||
           (!meaning.y && record.y != 0) || record.what > meaning.what ||
           record.what < meaning.least;
}

}  // namespace

std::uint64_t digest_of(std::span<const std::byte> file) {
    constexpr std::size_t kAt = offsetof(abi::TraceHead, digest);
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (std::size_t at = 0; at < file.size(); ++at) {
        const bool own = at >= kAt && at < kAt + sizeof(abi::TraceHead::digest);
        hash = (hash ^ (own ? 0 : std::to_integer<std::uint64_t>(file[at]))) * 0x100'0000'01b3;
    }
    return hash;
}

std::vector<std::byte> file_of(abi::TraceHead head, std::span<const abi::TraceRecord> records) {
    std::vector<abi::TraceSums> blocks;
    abi::TraceSums sums;
    for (std::size_t at = 0; at < records.size(); ++at) {
        sums.add(records[at]);
        if ((at + 1) % abi::kTraceBlock == 0 || at + 1 == records.size()) {
            blocks.push_back(sums);
        }
    }
    head.records = records.size();
    std::vector<std::byte> file;
    const auto append = [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
    };
    append(std::as_bytes(std::span(&head, 1)));
    append(std::as_bytes(records));
    append(std::as_bytes(std::span(blocks)));
    head.digest = digest_of(file);
    std::memcpy(file.data(), &head, sizeof(head));
    return file;
}

TraceResult parse_trace(std::span<const std::byte> bytes) {
    abi::TraceHead head;
    if (bytes.size() < sizeof(head)) {
        return refuse(fmt::format("truncated: {} bytes, and the head alone has {}", bytes.size(),
                                  sizeof(head)));
    }
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (std::memcmp(head.magic, kMagic, sizeof(head.magic)) != 0) {
        return refuse("wrong magic: this is no trace");
    }
    if (head.version != abi::kTraceVersion) {
        return refuse(fmt::format("wrong version: {}, and this oracle reads {}", head.version,
                                  abi::kTraceVersion));
    }
    if (head.record_size != sizeof(abi::TraceRecord)) {
        return refuse(fmt::format("wrong record size: {}, not {}", head.record_size,
                                  sizeof(abi::TraceRecord)));
    }
    const std::span<const std::byte> body = bytes.subspan(sizeof(head));
    const std::uint64_t whole = body.size() / sizeof(abi::TraceRecord);
    if (head.records > whole) {
        return refuse(fmt::format("truncated: the head tells of {} records, {} are there",
                                  head.records, whole));
    }
    const std::uint64_t of_records = head.records * sizeof(abi::TraceRecord);
    const std::uint64_t needed =
        of_records + abi::trace_blocks(head.records) * sizeof(abi::TraceSums);
    if (body.size() < needed) {
        return refuse(fmt::format("truncated: {} bytes of the blocks' sums are missing",
                                  needed - body.size()));
    }
    if (body.size() > needed) {
        return refuse(
            fmt::format("{} bytes stand behind the last block's sums", body.size() - needed));
    }
    if (const std::uint64_t digest = digest_of(bytes); digest != head.digest) {
        return refuse(fmt::format("digest mismatch: {:016x} in the head, {:016x} of the file",
                                  head.digest, digest));
    }
    if (head.dropped != 0) {
        return refuse(fmt::format("{} records were dropped: the ring was full", head.dropped));
    }
    if (head.harts == 0 || head.timebase == 0 || head.slice_ticks == 0) {
        return refuse(fmt::format("the head tells of {} harts, a timebase of {} and a slice of {}",
                                  head.harts, head.timebase, head.slice_ticks));
    }

    Trace trace{.head = head, .records = std::vector<abi::TraceRecord>(head.records)};
    std::vector<abi::TraceSums> blocks(abi::trace_blocks(head.records));
    if (head.records != 0) {
        std::memcpy(trace.records.data(), body.data(), of_records);
        std::memcpy(blocks.data(), body.data() + of_records, needed - of_records);
    }
    abi::TraceSums sums;
    for (std::size_t at = 0; at < trace.records.size(); ++at) {
        sums.add(trace.records[at]);
        const bool last = at + 1 == trace.records.size();
        if ((last || (at + 1) % abi::kTraceBlock == 0) && sums != blocks[at / abi::kTraceBlock]) {
            return refuse(fmt::format("altered behind the kernel: the sums of records {} to {} "
                                      "do not match",
                                      at / abi::kTraceBlock * abi::kTraceBlock, at));
        }
    }
    std::uint32_t entry = 0;
    for (std::size_t at = 0; at < trace.records.size(); ++at) {
        if (trace.records[at].entry < entry) {
            return refuse(fmt::format("entries decrease: record {} is of entry {} behind entry {}",
                                      at, trace.records[at].entry, entry));
        }
        entry = trace.records[at].entry;
        if (has_stray_field(trace.records[at])) {
            return refuse(fmt::format("record {} has a field that its kind does not have: {}", at,
                                      describe(at, trace.records[at])));
        }
    }
    const auto is_pick = [](const abi::TraceRecord& record) {
        return record.kind == static_cast<std::uint8_t>(abi::TraceKind::pick);
    };
    if (std::none_of(trace.records.begin(), trace.records.end(), is_pick)) {
        return refuse("no picks: nothing was scheduled");
    }
    return {.trace = std::move(trace), .refusal = {}};
}

TraceResult read_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) {
        return refuse(fmt::format("cannot open {}", path.string()));
    }
    const std::streamoff size = file.tellg();
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()))) {
        return refuse(fmt::format("cannot read {}", path.string()));
    }
    return parse_trace(bytes);
}

}  // namespace ravelin::oracle
