// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// The result of one play.
struct PlayReport: Sendable, Hashable, Encodable {
  var url: String
  /// Seconds from the start to the first sound; nil if there was none.
  var timeToFirstSound: Double?
  var bytesFromOrigin: Int64
  var bytesFromDisk: Int64
  var requests: Int
  /// Whether the media is a file, which does not involve the cache.
  var isFile = false
  /// Whether the media is a stream, whose bytes are not counted.
  var isStream = false

  /// Whether the item was skipped before anything was read.
  var isEmpty: Bool { timeToFirstSound == nil && bytesFromOrigin == 0 && bytesFromDisk == 0 }

  /// `first sound after 83 ms, from the origin 2.4 MiB in 5 requests, from disk 0 B`
  var text: String {
    let sound =
      timeToFirstSound.map { "first sound after \(TimeText.span(.seconds($0)))" } ?? "no sound"
    guard !isFile else { return "\(sound), from a file" }
    guard !isStream else { return "\(sound), a stream through the cache" }
    let origin = "from the origin \(ByteSize.text(bytesFromOrigin))"
    let asked = "in \(requests) \(requests == 1 ? "request" : "requests")"
    return "\(sound), \(origin) \(asked), from disk \(ByteSize.text(bytesFromDisk))"
  }

  private enum CodingKeys: String, CodingKey {
    case url, timeToFirstSound, bytesFromOrigin, bytesFromDisk, requests
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encodeIfPresent(timeToFirstSound, forKey: .timeToFirstSound)
    // Zeros would state that a stream came without the origin.
    guard !isStream else { return }
    try container.encode(bytesFromOrigin, forKey: .bytesFromOrigin)
    try container.encode(bytesFromDisk, forKey: .bytesFromDisk)
    try container.encode(requests, forKey: .requests)
  }
}

#if os(Linux)
  extension PlayReport {
    init(_ media: Media, _ report: PlaybackReport) {
      let isStream = report.statistics == nil && !media.url.isFileURL
      let statistics = report.statistics ?? MediaReader.Statistics()
      self.init(
        url: media.url.withoutUserInfo.absoluteString,
        timeToFirstSound: report.timeToFirstSound.map { $0 / .seconds(1) },
        bytesFromOrigin: statistics.bytesFromOrigin, bytesFromDisk: statistics.bytesFromDisk,
        requests: statistics.requests, isFile: media.url.isFileURL, isStream: isStream)
    }
  }
#endif

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
