// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainStreams

/// The variants and renditions of a stream, for people and for programs.
struct StreamReport: Encodable, Sendable {
  struct Variant: Encodable, Sendable {
    var width: Int?
    var height: Int?
    /// In bits per second.
    var bandwidth: Int64
    var averageBandwidth: Int64?
    var codecs: String?
    var frameRate: Double?
    var estimatedBytes: Int64?

    init(_ variant: StreamVariant, seconds: Double?) {
      (width, height) = (variant.width, variant.height)
      (bandwidth, averageBandwidth) = (variant.bandwidth, variant.averageBandwidth)
      (codecs, frameRate) = (variant.codecs, variant.frameRate)
      estimatedBytes = seconds.flatMap { variant.estimatedBytes(seconds: $0) }
    }
  }

  struct Rendition: Encodable, Sendable, Hashable {
    var type: String
    var language: String?
    var name: String
    var isDefault: Bool
    var isForced: Bool
    var channels: String?

    init(_ rendition: StreamRendition) {
      type = rendition.kind.rawValue
      (language, name) = (rendition.language, rendition.name)
      (isDefault, isForced) = (rendition.isDefault, rendition.isForced)
      channels = rendition.channels
    }
  }

  var url: String
  /// In seconds; nil if the stream is live.
  var duration: Double?
  /// Of a stream of one quality; nil if it is unknown.
  var estimatedBytes: Int64?
  var variants: [Variant] = []
  /// Without repetitions in several groups.
  var renditions: [Rendition] = []

  init(_ source: StreamSource, at url: URL, seconds: Double?, bytes: Int64?) {
    self.url = url.withoutUserInfo.absoluteString
    (duration, estimatedBytes) = (seconds, bytes)
    variants = source.variants.map { Variant($0, seconds: seconds) }
    var known: Set<Rendition> = []
    renditions = source.renditions.map(Rendition.init).filter { known.insert($0).inserted }
  }

  /// The lines for people.
  var lines: [String] {
    let time = duration.map { TimeText.position(.seconds($0)) } ?? "live"
    let size = estimatedBytes.map { ", about \(ByteSize.text($0))" } ?? ""
    var lines = ["\(url), \(time)\(size)"]
    if !variants.isEmpty {
      var table = Table(columns: [
        .init(title: "RESOLUTION"), .init(title: "BIT RATE", alignment: .right),
        .init(title: "SIZE", alignment: .right), .init(title: "CODECS"),
      ])
      table.rows = variants.map(\.cells)
      lines += [""] + table.lines()
    }
    if !renditions.isEmpty {
      var table = Table(columns: [
        .init(title: "TYPE"), .init(title: "LANGUAGE"), .init(title: "DEFAULT"),
        .init(title: "NAME"),
      ])
      table.rows = renditions.map { rendition in
        [
          rendition.type, rendition.language ?? "-", rendition.isDefault ? "yes" : "no",
          rendition.name,
        ]
      }
      lines += [""] + table.lines()
    }
    return lines.map(printable)
  }
}

extension StreamReport.Variant {
  var resolution: String? {
    guard let width, let height else { return nil }
    return "\(width)x\(height)"
  }

  /// The average bit rate, otherwise the peak; nil if neither is known.
  var bitRate: String? {
    let rate = averageBandwidth ?? bandwidth
    return rate > 0 ? BitRateText.text(rate) : nil
  }

  fileprivate var cells: [String] {
    [
      resolution ?? "-", bitRate ?? "-", estimatedBytes.map { "about \(ByteSize.text($0))" } ?? "-",
      codecs ?? "-",
    ]
  }
}

extension StreamDownload.Selection {
  /// `1280x720, 3.0 Mbit/s, 20:00, about 429.2 MiB`
  var text: String {
    let variant = variant.map { StreamReport.Variant($0, seconds: plan.duration) }
    let languages = renditions.compactMap(\.language)
    return [
      variant?.resolution, variant?.bitRate,
      languages.isEmpty ? nil : languages.joined(separator: " "),
      TimeText.position(.seconds(plan.duration)),
      estimatedBytes.map { "about \(ByteSize.text($0))" },
    ].compactMap(\.self).joined(separator: ", ")
  }
}

enum BitRateText {
  /// `64 kbit/s`, `3.0 Mbit/s`
  static func text(_ rate: Int64) -> String {
    rate < 1_000_000
      ? "\((rate + 500) / 1000) kbit/s" : String(format: "%.1f Mbit/s", Double(rate) / 1_000_000)
  }
}

/// `get --list`: prints what streams offer.
struct StreamList: Sendable {
  private let cache: MediaCache
  private let options: GlobalOptions
  private let quality: StreamChoice.Quality

  init(_ cache: MediaCache, _ options: GlobalOptions, _ quality: StreamChoice.Quality) {
    self.cache = cache
    self.options = options
    self.quality = quality
  }

  /// Lists the streams one after the other. If one fails, the error is reported and the others are
  /// still listed.
  func run(_ urls: [URL]) async throws {
    var hasFailed = false
    for (index, url) in urls.enumerated() {
      do {
        let report = try await report(url)
        if options.json {
          try Console.shared.print(JSONText.line(report))
        } else {
          try Console.shared.print(lines: (index > 0 ? [""] : []) + report.lines)
        }
      } catch let error as MediaCacheError where error.code != .closed {
        Console.shared.note(failureLine(url, error))
        hasFailed = true
      }
    }
    if hasFailed { throw ExitCode.failure }
  }

  private func report(_ url: URL) async throws -> StreamReport {
    let download = StreamDownload(options.resource(url), into: cache)
    guard let source = try await download.readSource() else {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) is not the manifest of an HLS or DASH stream.",
        remedy: "Fetch it without --list.")
    }
    let seconds = try await download.duration(of: source, quality: quality)
    let bytes = try await download.estimatedBytes(of: source)
    return StreamReport(source, at: url, seconds: seconds, bytes: bytes)
  }
}
