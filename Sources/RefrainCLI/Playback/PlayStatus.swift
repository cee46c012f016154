// SPDX-License-Identifier: MIT
import Foundation
import RefrainPlayer

/// The state of a play, in a line. A pure value.
struct PlayStatus: Sendable {
  var name: String
  var position = Duration.zero
  var duration: Duration?
  var isLive = false
  /// The kept part of a live stream.
  var liveWindow: LiveWindow?
  /// Whether the listener is behind the present of that by choice.
  var hasLeftLive = false

  /// `0:07 / 0:14  song.flac`, `0:07 live  Radio`, `2:07 -8:00 live  Radio`
  func line(width: Int) -> String {
    let behind = liveWindow?.distance(of: position, hasLeftLive: hasLeftLive)
    let live = behind.map { " -\(TimeText.position($0)) live" } ?? " live"
    let length = isLive ? live : duration.map { " / \(TimeText.position($0))" } ?? ""
    let times = TimeText.position(position) + length
    let fit = TextFit()
    let room = max(8, width - times.count - 2)
    return fit.shortened(
      "\(times)  \(fit.shortened(name, to: room, keeping: .bothEnds))", to: width)
  }
}

/// Returns the file of the `number`-th play: `heard.wav`, `heard-2.wav`, …
func numberedFile(_ file: URL, _ number: Int) -> URL {
  guard number > 1 else { return file }
  let ending = file.pathExtension
  let stem = file.deletingPathExtension().lastPathComponent
  let folder = file.deletingLastPathComponent()
  return folder.appending(path: "\(stem)-\(number)" + (ending.isEmpty ? "" : ".\(ending)"))
}
