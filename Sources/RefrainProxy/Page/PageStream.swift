// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The variants and tracks of a stored stream, each with its segments in order. Makes no request.
struct PageStream: Sendable {
  struct Variant: Sendable, Hashable {
    var name: String
    /// The number of parts.
    var length: Int64
    /// The stored bytes.
    var stored: Int64 = 0
    /// The parts that are stored whole.
    var spans: [ByteRange] = []
    var seconds: Double
  }

  private static let mostSegments: Int64 = 50_000
  static let mostVariants = 64

  let cache: MediaCache

  /// - Parameter key: of the first manifest.
  /// - Returns: nil if the manifest is not stored, or is none of a stream.
  /// - Throws: `CancellationError`.
  func variants(of key: CacheKey) async throws -> [Variant]? {
    guard let manifest = await cache.storedManifest(for: key) else { return nil }
    // An MPD that does not describe the stream itself names no variants.
    guard let source = try? await StreamSource(manifest) else { return nil }
    // A long manifest takes seconds.
    return try await withTaskExecutorPreference(IOThreads.background) {
      switch source.content {
      case .media(let playlist):
        var plan = StreamPlan()
        plan.append(playlist, at: source.url)
        return try await [variant("", plan)]
      case .multivariant(let playlist): return try await variants(of: playlist, at: source.url)
      case .presentation(let presentation): return try await variants(of: presentation)
      }
    }
  }

  private func variants(
    of playlist: HLSMultivariantPlaylist, at url: URL
  ) async throws -> [Variant] {
    var names: [(name: String, uri: String)] = []
    for variant in playlist.variants {
      names.append((Self.name(StreamVariant(variant)), variant.uri))
    }
    for rendition in playlist.renditions {
      guard let uri = rendition.uri else { continue }
      names.append((Self.name(StreamRendition(rendition)), uri))
    }
    var known: Set<String> = []
    var variants: [Variant] = []
    for (name, uri) in names where known.insert(uri).inserted {
      guard variants.count < Self.mostVariants else { break }
      try Task.checkCancellation()
      var plan = StreamPlan()
      if let url = URL(text: uri, relativeTo: url),
        let stored = await cache.storedManifest(at: url),
        let media = HLSMediaPlaylist(stored.body, url: stored.url, imported: playlist.variables)
      {
        plan.append(media, at: stored.url)
      }
      variants.append(try await variant(name, plan))
    }
    return variants
  }

  private func variants(of presentation: DASHPresentation) async throws -> [Variant] {
    var allowance = DASHPresentation.Allowance(segments: Self.mostSegments)
    var variants: [Variant] = []
    for period in presentation.periods {
      for set in period.sets where !set.isTrickPlay {
        for representation in set.representations {
          guard variants.count < Self.mostVariants else { return variants }
          try Task.checkCancellation()
          var plan = StreamPlan()
          do {
            try plan.append([representation], duration: period.duration, &allowance)
          } catch {
            if error == .isTooLarge { return variants }
            continue
          }
          let facts = [Self.name(StreamVariant(representation)), set.language ?? ""]
          variants.append(
            try await variant(facts.filter { !$0.isEmpty }.joined(separator: ", "), plan))
        }
      }
    }
    return variants
  }

  private func variant(_ name: String, _ plan: StreamPlan) async throws -> Variant {
    var variant = Variant(
      name: name, length: Int64(plan.parts.count), seconds: plan.seconds)
    let amounts = try await cache.storedAmounts(of: plan.parts)
    for (index, amount) in amounts.enumerated() {
      variant.stored += amount.bytes
      guard amount.isComplete else { continue }
      let index = Int64(index)
      if let last = variant.spans.last, last.upperBound == index {
        variant.spans[variant.spans.count - 1] = last.lowerBound..<index + 1
      } else {
        variant.spans.append(index..<index + 1)
      }
    }
    return variant
  }

  private static func name(_ variant: StreamVariant) -> String {
    var facts: [String] = []
    if let height = variant.height { facts.append("\(height)p") }
    if variant.bandwidth > 0 { facts.append("\((variant.bandwidth + 500) / 1000) kbit/s") }
    if facts.isEmpty, let codecs = variant.codecs { facts.append(codecs) }
    return facts.joined(separator: ", ")
  }

  private static func name(_ rendition: StreamRendition) -> String {
    [rendition.kind.rawValue, rendition.language ?? "", rendition.name]
      .filter { !$0.isEmpty }.joined(separator: ", ")
  }
}

extension PageStream.Variant {
  func write(to json: inout PageJSON) {
    json.object { json in
      json.member("name", name)
      json.member("length", length)
      json.member("stored", stored)
      json.member("spans", spans)
      json.member("seconds", Int64(min(max(seconds, 0), 1e9)))
    }
  }
}
