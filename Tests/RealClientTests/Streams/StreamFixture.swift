// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

/// A stream of nine seconds with all of its files, made by ffmpeg once per test run.
struct StreamFixture: Sendable {
  let kind: Kind
  /// The files by their names relative to `folder`, with relative references.
  let files: [String: Data]

  /// The folder on the origin.
  var folder: String { "/\(kind.rawValue)/" }
  /// The path of the playlist or manifest that a player opens.
  var entry: String { folder + kind.recipe.entry }

  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case transportStream, fragments, variants, encrypted, byteRanges, discontinuity
    case absoluteVariants, absoluteKeys, rootedFragments, rootedVariants, networkPathKeys
    case dashNumbers, dashTimeline, dashSegmentList, dashSegmentBase
    case dashAbsoluteBase, dashAbsoluteTemplate, dashRootedTemplate
    /// Playlists that are compressed, although none was requested so.
    case gzipped
    /// A multivariant playlist that sets a cookie, without which segments are refused.
    case cookies
    /// A playlist that refers to its segments by another signature each time it is loaded.
    case signed

    var testDescription: String { rawValue }

    var recipe: StreamRecipe {
      switch self {
      case .transportStream, .gzipped, .signed: .transportStream
      case .fragments, .rootedFragments: .fragments
      case .variants, .absoluteVariants, .rootedVariants, .cookies: .variants
      case .encrypted, .absoluteKeys, .networkPathKeys: .encrypted
      case .byteRanges: .byteRanges
      case .discontinuity: .discontinuity
      case .dashNumbers, .dashAbsoluteBase, .dashAbsoluteTemplate, .dashRootedTemplate:
        .dashNumbers
      case .dashTimeline: .dashTimeline
      case .dashSegmentList: .dashSegmentList
      case .dashSegmentBase: .dashSegmentBase
      }
    }

    var spelling: StreamReferences.Spelling {
      switch self {
      case .absoluteVariants, .absoluteKeys, .dashAbsoluteBase, .dashAbsoluteTemplate: .absolute
      case .rootedFragments, .rootedVariants, .dashRootedTemplate: .rooted
      case .networkPathKeys: .networkPath
      default: .relative
      }
    }

    var isPlaylist: Bool { !recipe.isDASH }

    /// A kind with the same media, whose origin demands nothing of players.
    var undemanding: Kind {
      switch self {
      case .gzipped, .signed: .transportStream
      case .cookies: .variants
      default: self
      }
    }
  }

  /// Returns the stream, whose files are made when they are first needed.
  static func made(_ kind: Kind) async throws -> StreamFixture {
    let recipe = kind.recipe
    let files = try await made.value(for: recipe) { try await recipe.files() }
    return StreamFixture(kind: kind, files: files)
  }

  private static let made = MadeOnce<StreamRecipe, [String: Data]>()

  /// Serves all files with a strong ETag. They were modified so long ago that they stay fresh.
  ///
  /// - Parameter headers: further fields of each response, such as Cache-Control.
  func serve(on origin: OriginServer, headers: [Field] = []) {
    for name in files.keys {
      origin.serve(
        OriginResource(
          .bytes(bytes(of: name, on: origin)), contentType: Self.contentType(of: name),
          etag: "\"\(kind.rawValue)-\(name)\"",
          lastModified: Date(timeIntervalSinceNow: -100 * 24 * 3600),
          headers: headers + fields(of: name)),
        at: folder + name)
      if let script = script(of: name) { origin.script(folder + name, script) }
    }
  }

  /// Returns a file as the origin serves it, with references that are spelled as the kind demands.
  func bytes(of name: String, on origin: OriginServer) -> Data {
    guard let data = files[name], kind.spelling != .relative else { return files[name] ?? Data() }
    let text = String(decoding: data, as: UTF8.self)
    let base = origin.url(folder + name)
    if name.hasSuffix(".m3u8") {
      let references = StreamReferences(playlist: text)
      return Data(references.spelled(kind.spelling, base: base).utf8)
    }
    guard name.hasSuffix(".mpd") else { return data }
    if kind == .dashAbsoluteBase {
      return Data(StreamManifest.withBase(origin.url(folder), in: text).utf8)
    }
    return Data(StreamManifest.spelled(text, kind.spelling, base: base).utf8)
  }

  static func contentType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "m3u8": "application/vnd.apple.mpegurl"
    case "mpd": "application/dash+xml"
    case "ts": "video/mp2t"
    case "m4s", "mp4": "video/mp4"
    case "vtt": "text/vtt"
    default: "application/octet-stream"
    }
  }
}
