// Reading the compiled corpus.

#include "tests/fdt/corpus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ravelin::fdt::test {

std::vector<std::string> tree_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(RAVELIN_FDT_CORPUS)) {
        if (entry.path().extension() == ".dtb") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::uint8_t> read_tree(const std::string& name) {
    const std::string path = std::string(RAVELIN_FDT_CORPUS) + "/" + name + ".dtb";
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(1);
    }
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace ravelin::fdt::test
