// SPDX-License-Identifier: MIT

/// The page on which Chromium runs a `WebPlayer`. It reports in the query of a request.
///
/// Each stream is sought about in, and then played to its end. Pictures are hashed as canvas
/// contents after each seek.
enum WebPlayerPage {
  static let path = "/web-player.html"

  /// Seek targets in seconds, in order: near the end, back, and forward.
  static let seeks = [6.5, 1.02, 4.5]

  static let html = """
    <!doctype html>
    <meta charset="utf-8">
    <title>Refrain</title>
    <body>
    <script type="module">
    const query = new URLSearchParams(location.search);

    // Each begins to play in an element, and returns how to end.
    const players = {
      async "hls.js"(video, url) {
        const { t: load } = await import("/hls.js");
        // The best variant, whatever the speed.
        const player = load(video, url, () => { player.loadLevel = player.levels.length - 1; });
        return () => player.destroy();
      },
      async "video.js"(video, url) {
        if (!window.videojs) {
          const script = document.createElement("script");
          script.src = "/video.js";
          document.head.append(script);
          await happens("load", script);
        }
        const player = videojs(video, { html5: { hls: { overrideNative: true } } });
        const isDASH = url.endsWith(".mpd");
        player.src({ src: url, type: isDASH ? "application/dash+xml" : "application/x-mpegURL" });
        return () => player.dispose();
      },
    };

    \(Page.waiting)

    // A seek cancels the requests that run, which would be made again later: it waits for them.
    let running = 0;
    const send = XMLHttpRequest.prototype.send;
    XMLHttpRequest.prototype.send = function (...body) {
      running += 1;
      this.addEventListener("loadend", () => { running -= 1; });
      return send.apply(this, body);
    };

    async function idle() {
      let quiet = 0;
      while (quiet < 10) {
        await new Promise(resolve => setTimeout(resolve, 20));
        quiet = running === 0 ? quiet + 1 : 0;
      }
    }

    async function picture(video) {
      const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(video, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
      const hash = [...digest.slice(0, 8)].map(byte => byte.toString(16).padStart(2, "0"));
      return canvas.width + "x" + canvas.height + " " + hash.join("");
    }

    async function play(url, played) {
      const video = document.createElement("video");
      video.preload = "auto";
      document.body.append(video);
      const ready = happens("loadeddata", video);
      const end = await players[query.get("player")](video, url);
      await ready;
      played.seen = [];
      for (const time of \(seeks)) {
        await idle();
        const arrived = [happens("seeked", video), shown(video, time)];
        video.currentTime = time;
        await Promise.all(arrived);
        played.seen.push(video.currentTime + " " + await picture(video));
      }
      await idle();
      const ended = happens("ended", video);
      video.playbackRate = 4;
      await video.play();
      await ended;
      played.ended = video.currentTime;
      played.hasSound = video.webkitAudioDecodedByteCount > 0;
      end();
      video.remove();
    }

    const report = [];
    for (const url of query.get("streams").split(" ")) {
      const played = {};
      report.push(played);
      try {
        await play(url, played);
      } catch (error) {
        played.error = String(error);
      }
    }
    await fetch("\(Page.report)?" + new URLSearchParams({ played: JSON.stringify(report) }));
    </script>
    """
}
