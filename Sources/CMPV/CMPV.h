// SPDX-License-Identifier: MIT
// The system's libmpv: its client API, and streams that a program feeds.
#include <mpv/client.h>
#include <mpv/stream_cb.h>
