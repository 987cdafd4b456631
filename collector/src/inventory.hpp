// `ttcollect list` and `ttcollect clean`: cards and segments that are there.
#pragma once

namespace ttc::collect {

void list(bool as_json);  // on stdout
void clean();             // removes what no living collector holds, and says what

}  // namespace ttc::collect
