// SPDX-License-Identifier: MIT

/// The page on which Chromium plays a low-latency stream with hls.js, at the same time through the
/// proxy and directly. It reports in the query of a request.
///
/// hls.js reads the preload hints, and does not request them: as Safari does, the page requests
/// them for the player behind the proxy.
enum LowLatencyPage {
  static let path = "/low-latency.html"
  /// Requested once the page is ready. The players begin with the response.
  static let ready = "/ready"
  /// The stream as the page has to know it, served before the response to `ready`.
  static let stream = "/stream.json"

  /// The contents of `stream`.
  struct Stream: Codable {
    /// The milliseconds since 1970 at time zero of the stream's clock.
    var start: Double
    /// The seconds of media that exist at time zero.
    var lead: Double
    /// The time up to which a page plays that begins at once. Media that follow keep the stream
    /// live.
    var end: Double
    var segmentDuration: Double
    var framesPerSecond: Double
  }

  /// The page's report.
  struct Report: Codable {
    var direct: Played
    var proxied: Played
    /// The number of frames that both players have shown, with equal pictures.
    var equalFrames: Int
    /// Frames whose pictures differ.
    var differentFrames: [Int]
  }

  /// The report on one player. Times are of the stream, in seconds.
  struct Played: Codable {
    /// The times at which playback began and ended.
    var start: Double?
    var end: Double?
    /// The distance from the live edge, at least and in the median.
    var leastDistance: Double
    var distance: Double
    /// How often playback stopped for lack of media.
    var stalls: Int
    /// The bounds of the buffered ranges at the end.
    var buffered: [Double]
    var error: String?
  }

  static let html = """
    <!doctype html>
    <meta charset="utf-8">
    <title>Refrain</title>
    <body>
    <script type="module">
    import { t as load } from "/hls.js";
    const query = new URLSearchParams(location.search);
    const round = seconds => Math.round(seconds * 1000) / 1000;

    function requestHints(player, report) {
      const requested = new Set();
      player.on(player.constructor.Events.LEVEL_LOADED, (_, { details }) => {
        if (!details.preloadHint) return;
        const url = new URL(details.preloadHint.URI, details.url).href;
        if (requested.has(url)) return;
        requested.add(url);
        fetch(url, { cache: "no-store" })
          .then(answer => answer.ok ? answer.arrayBuffer() : Promise.reject(answer.status))
          .catch(error => { report.error = "hint " + url + ": " + error; });
      });
    }

    // Pictures by the number of their frame, of each player.
    async function collect(video, pictures, streamTime) {
      const frame = new VideoFrame(video);
      const number = Math.round(streamTime(frame.timestamp / 1e6) * stream.framesPerSecond);
      const bytes = new Uint8Array(frame.allocationSize());
      await frame.copyTo(bytes);
      frame.close();
      let hash = 0;
      for (const byte of bytes) hash = (Math.imul(hash, 31) + byte) | 0;
      pictures.set(number, hash);
    }

    async function play(url, hasHints) {
      const video = document.createElement("video");
      video.muted = true;
      document.body.append(video);
      const report = { stalls: 0, buffered: [] };
      const pictures = new Map();
      const distances = [];
      const player = load(video, url);
      if (!player.config.lowLatencyMode) throw new Error("hls.js is not in its low-latency mode");
      // Its target is the distance from the live edge that the list demands, also after a stall.
      player.config.liveSyncOnStallIncrease = 0;
      if (hasHints) requestHints(player, report);
      // The player's time begins with the first segment of its first list.
      const streamTime = time => {
        const { start, sn } = player.latestLevelDetails.fragments[0];
        return time - start + sn * stream.segmentDuration;
      };
      const edge = () => stream.lead + (Date.now() - stream.start) / 1000;
      let isOver = false;
      const look = () => {
        if (isOver) return;
        collect(video, pictures, streamTime).catch(error => { report.error = String(error); });
        distances.push(edge() - streamTime(video.currentTime));
        // A late start is made up for: hls.js itself does so only within a target duration.
        video.playbackRate = player.latency > player.targetLatency + 0.1 ? 1.5 : 1;
        video.requestVideoFrameCallback(look);
      };
      video.requestVideoFrameCallback(look);
      try {
        await new Promise((resolve, reject) => {
          video.addEventListener("playing", () => {
            report.start ??= round(streamTime(video.currentTime));
          });
          video.addEventListener("waiting", () => {
            if (report.start !== undefined) report.stalls += 1;
          });
          video.addEventListener("timeupdate", () => {
            // Who begins late plays as long.
            const end = Math.max(stream.end, (report.start ?? 0) + stream.end - stream.lead);
            if (streamTime(video.currentTime) >= end) resolve();
          });
          player.on(player.constructor.Events.ERROR, (_, { fatal, details }) => {
            if (fatal) reject(new Error(details));
          });
          video.play().catch(reject);
        });
        video.pause();
        report.end = round(streamTime(video.currentTime));
      } catch (error) {
        report.error = String(error);
      }
      isOver = true;
      for (let index = 0; index < video.buffered.length; index++) {
        report.buffered.push(
          round(streamTime(video.buffered.start(index))),
          round(streamTime(video.buffered.end(index))));
      }
      distances.sort((one, other) => one - other);
      report.leastDistance = round(distances[0] ?? -1);
      report.distance = round(distances[distances.length >> 1] ?? -1);
      player.destroy();
      return { report, pictures };
    }

    await fetch("\(ready)", { cache: "no-store" });
    const stream = await (await fetch("\(stream)", { cache: "no-store" })).json();
    const [direct, proxied] = await Promise.all([
      play(query.get("direct"), false), play(query.get("proxied"), true),
    ]);
    const both = [...direct.pictures.keys()].filter(number => proxied.pictures.has(number));
    const isEqual = number => direct.pictures.get(number) === proxied.pictures.get(number);
    const report = {
      direct: direct.report, proxied: proxied.report,
      equalFrames: both.filter(isEqual).length,
      differentFrames: both.filter(number => !isEqual(number)).slice(0, 100),
    };
    const fields = new URLSearchParams({ played: JSON.stringify(report) });
    await fetch(query.get("report") + "?" + fields);
    </script>
    """
}
