// Wide numbers as text, for what a disagreement prints.
#pragma once

#include <string>

#include "scheduler.h"

namespace ravelin::differential {

inline std::string show(model::Pass number) {
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
        number /= 10;
    } while (number != 0);
    return digits;
}

}  // namespace ravelin::differential
