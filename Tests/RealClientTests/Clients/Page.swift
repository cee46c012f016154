// SPDX-License-Identifier: MIT
import Foundation

/// The page on which Chromium plays media. It reports in the query of a request.
///
/// Each medium is played by an element that seeks about and then plays to its end, and decoded as a
/// whole by Web Audio. Sound is hashed as decoded samples, pictures as canvas contents after each
/// seek. The page can read a canvas and fetch bytes only if the server permits it.
enum Page {
  static let path = "/page.html"
  static let report = "/report"

  /// Seek targets in seconds, in order: near the end, back, and forward.
  static let seeks = [6.5, 1.02, 4.5, 0.3, 7.3]

  struct Medium: Codable, Sendable {
    var name: String
    var url: URL
    var hasVideo: Bool
  }

  /// The page's report on one medium.
  struct Played: Codable, Sendable, Equatable {
    var name: String
    var duration: Double?
    /// The position, or the picture, after each seek.
    var seen: [String]?
    /// The time at which playback ended, in seconds.
    var ended: Double?
    /// The width and the height of the last picture, as in `256x144`.
    var size: String?
    /// The hash of the bytes that a script fetched, and of the samples that they decode to.
    var bytes: String?
    var samples: String?
    var frames: Int?
    var error: String?
  }

  static func url(
    on server: URL, playing media: [Medium], seeking seeks: [Double]
  ) throws -> URL {
    func json(_ value: some Encodable) throws -> String {
      String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
    return server.appending(path: path).appending(queryItems: [
      URLQueryItem(name: "media", value: try json(media)),
      URLQueryItem(name: "seeks", value: try json(seeks)),
    ])
  }

  static func played(fromReport target: String) throws -> [Played] {
    let json = URLComponents(string: target)?.queryItems?.first { $0.name == "played" }?.value
    return try JSONDecoder().decode([Played].self, from: Data((json ?? "").utf8))
  }

  /// The functions by which a script waits for an event of a media element, and for a picture.
  static let waiting = """
    function happens(name, element) {
      return new Promise((resolve, reject) => {
        element.addEventListener(name, resolve, { once: true });
        element.addEventListener(
          "error", () => reject(new Error(element.error?.message ?? "error")), { once: true });
      });
    }

    // `seeked` may come before the frame is there to be drawn, and on a busy machine another one is
    // shown before it. Waits for that of the time, at 25 in a second; if none comes, takes another.
    function shown(video, time) {
      return new Promise((resolve) => {
        const look = (_, frame) =>
          time - frame.mediaTime > -0.001 && time - frame.mediaTime < 0.041
            ? resolve() : video.requestVideoFrameCallback(look);
        video.requestVideoFrameCallback(look);
        setTimeout(resolve, 3000);
      });
    }
    """

  static let html = """
    <!doctype html>
    <meta charset="utf-8">
    <title>Refrain</title>
    <body>
    <script type="module">
    const query = new URLSearchParams(location.search);
    const seeks = JSON.parse(query.get("seeks"));

    async function hash(bytes) {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      return [...digest.slice(0, 8)].map(byte => byte.toString(16).padStart(2, "0")).join("");
    }

    async function picture(video) {
      const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(video, 0, 0);
      return hash(context.getImageData(0, 0, canvas.width, canvas.height).data);
    }

    \(waiting)

    async function play(medium, played) {
      const element = document.createElement(medium.hasVideo ? "video" : "audio");
      element.crossOrigin = "anonymous";
      element.preload = "auto";
      document.body.append(element);
      const ready = happens("loadeddata", element);
      element.src = medium.url;
      await ready;
      played.duration = element.duration;
      played.seen = [];
      for (const time of seeks) {
        const arrived = [happens("seeked", element)];
        if (medium.hasVideo) arrived.push(shown(element, time));
        element.currentTime = time;
        await Promise.all(arrived);
        played.seen.push(
          element.currentTime + (medium.hasVideo ? " " + await picture(element) : ""));
      }
      const ended = happens("ended", element);
      element.playbackRate = 4;
      await element.play();
      await ended;
      played.ended = element.currentTime;
      if (medium.hasVideo) played.size = element.videoWidth + "x" + element.videoHeight;
      element.remove();
    }

    async function decode(medium, played) {
      const answer = await fetch(medium.url, { cache: "no-store" });
      if (!answer.ok) throw new Error("status " + answer.status);
      const bytes = await answer.arrayBuffer();
      played.bytes = await hash(bytes);
      const context = new OfflineAudioContext(2, 1, 44100);
      const sound = await context.decodeAudioData(bytes);
      played.frames = sound.length;
      const channels = [];
      for (let index = 0; index < sound.numberOfChannels; index++) {
        channels.push(await hash(sound.getChannelData(index)));
      }
      played.samples = channels.join(" ");
    }

    const report = [];
    for (const medium of JSON.parse(query.get("media"))) {
      const played = { name: medium.name };
      report.push(played);
      try {
        await play(medium, played);
        await decode(medium, played);
      } catch (error) {
        played.error = String(error);
      }
    }
    await fetch("\(report)?" + new URLSearchParams({ played: JSON.stringify(report) }));
    </script>
    """
}
