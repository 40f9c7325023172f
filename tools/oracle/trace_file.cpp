#include "tools/oracle/trace_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace ravelin::oracle {

namespace {

constexpr char kMagic[] = "RAVTRACE";

TraceResult refuse(std::string reason) {
    return {.trace = std::nullopt, .refusal = std::move(reason)};
}

}  // namespace

std::uint64_t digest_of(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (const std::byte byte : bytes) {
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100'0000'01b3;
    }
    return hash;
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
    if (body.size() != head.records * sizeof(abi::TraceRecord)) {
        return refuse(fmt::format("{} bytes stand behind the last record",
                                  body.size() - head.records * sizeof(abi::TraceRecord)));
    }
    if (const std::uint64_t digest = digest_of(body); digest != head.digest) {
        return refuse(fmt::format("digest mismatch: {:016x} in the head, {:016x} of the records",
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
    if (!body.empty()) {
        std::memcpy(trace.records.data(), body.data(), body.size());
    }
    std::uint32_t entry = 0;
    for (std::size_t at = 0; at < trace.records.size(); ++at) {
        if (trace.records[at].entry < entry) {
            return refuse(fmt::format("entries decrease: record {} is of entry {} behind entry {}",
                                      at, trace.records[at].entry, entry));
        }
        entry = trace.records[at].entry;
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
