// SPDX-License-Identifier: MIT

extension PageFile {
  /// Plays through the proxy, and copies its URLs.
  static let playerText = #"""
    import * as store from "./store.js";
    import { button, element, focusFirst, name } from "./format.js";

    const panel = document.getElementById("player");

    /** Where the focus was when playing began. */
    let opener = null;

    export function stop() {
      const isFocused = panel.contains(document.activeElement);
      const media = panel.querySelector("audio, video");
      if (media) {
        media.pause();
        media.removeAttribute("src");
        media.load();
      }
      panel.replaceChildren();
      panel.hidden = true;
      if (isFocused) focusFirst([opener, document.getElementById("grid"),
        document.getElementById("url")]);
    }

    /** @param type the content type; undefined while unknown. */
    export async function play(url, type) {
      if (!panel.contains(document.activeElement)) opener = document.activeElement;
      let source;
      try {
        source = await store.address(url);
      } catch (error) {
        return store.say(error.message, true);
      }
      stop();
      const isSound = (type ?? "").startsWith("audio/")
        || /\.(mp3|m4a|aac|flac|ogg|oga|opus|wav)([?#]|$)/i.test(url);
      const media = element(isSound ? "audio" : "video");
      media.controls = true;
      media.setAttribute("aria-label", name(url));
      media.addEventListener("error", () => {
        if (!media.hasAttribute("src")) return;
        store.say(
          "The browser cannot play this: " + (media.error?.message || "unknown type")
            + ". Copy the proxy URL, and play it with another player, such as mpv.", true);
      });
      panel.append(media, element("span", "", name(url)), button("Stop", stop));
      panel.hidden = false;
      media.src = source;
      store.say("");
      // A browser may want another click; the controls are there.
      media.play().catch(() => {});
    }

    function copyByHand(text) {
      const focused = document.activeElement;
      const field = element("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      const isDone = document.execCommand("copy");
      field.remove();
      focused?.focus({ preventScroll: true });
      if (!isDone) throw new Error("refused");
    }

    export async function copy(url) {
      let text;
      try {
        text = await store.address(url);
      } catch (error) {
        return store.say(error.message, true);
      }
      try {
        // Only for secure contexts, as this computer's own addresses are.
        if (navigator.clipboard) await navigator.clipboard.writeText(text);
        else copyByHand(text);
        store.say("Copied " + text);
      } catch {
        store.say("The browser did not copy it. The URL: " + text, true);
      }
    }
    """#
}
