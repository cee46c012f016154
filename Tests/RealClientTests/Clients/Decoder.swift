// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// Programs that decode a URL as fast as they can, and report the decoded frames.
enum Decoder: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case ffmpeg, mpv, vlc

  static let usable = RequiredProgram.ffmpeg.isUsable ? allCases.filter(\.isUsable) : []

  var testDescription: String { rawValue }

  private var isUsable: Bool {
    switch self {
    case .ffmpeg: RequiredProgram.ffmpeg.isUsable
    case .mpv: RequiredProgram.mpv.isUsable
    case .vlc: RequiredProgram.vlc.isUsable
    }
  }

  /// - Parameter start: seconds to seek to before decoding.
  func decode(_ url: URL, from start: Int? = nil, hasVideo: Bool) async throws -> Decoded {
    let start = start.map { Double($0) }
    return try await withDirectory { directory in
      let decoded =
        switch self {
        case .ffmpeg: try await FFmpeg.decode(url, from: start, in: directory)
        case .mpv: try await MPV.decode(url, from: start, in: directory)
        case .vlc: try await VLC.decode(url, from: start, hasVideo: hasVideo, in: directory)
        }
      // Two empty results would be equal.
      try #require(decoded.frames.count > 5, "\(self) decoded \(decoded) of \(url)")
      return decoded
    }
  }
}
