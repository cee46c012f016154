// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainStreams

/// Responds with a manifest of a stream, whose references are rewritten to lead through this proxy.
/// The cache stores the original.
extension CachedAnswer {
  /// - Returns: false if the response is no manifest, or none that changes: it is sent as it is.
  /// - Throws: `HTTPError`, if the manifest would have to change but cannot.
  func respondWithManifest(_ selected: SelectedResponse) async throws -> Bool {
    guard let body = try await manifestBody(of: selected) else { return false }
    let url = baseURL(of: selected.known)
    await exchange.noteListing(body, base: url, recorded: selected.reader.group)
    let stored =
      isUnreachable(selected)
      ? try await StoredVariants(cache: service.cache, url: url).filtered(body) : nil
    let editor = ManifestEditor(exchange: exchange, url: url, stream: selected.reader.group)
    guard let edited = try await editor.edit(stored ?? body) else { return false }
    if let target = edited.redirection {
      try await exchange.redirect(to: target)
      return true
    }
    // A range of an unchanged body is a range of the original.
    let isFiltered = stored.map { $0 != body } ?? false
    guard edited.isChanged || isFiltered else { return false }
    try await sendManifest(edited.body, of: selected, isFiltered: isFiltered)
    return true
  }

  /// Whether the origin cannot be asked: the cache makes no request, or the last one failed a moment
  /// ago.
  private func isUnreachable(_ selected: SelectedResponse) -> Bool {
    if service.cache.isOffline { return true }
    switch source(of: selected) {
    case .stale: return true
    case .hit:
      return service.hasReachedOrigin(of: exchange.url) == false
    case .miss, .partial, .revalidated, .relayed, .proxy: return false
    }
  }

  /// Returns the whole body; nil if it is too long for a manifest, or does not begin like one.
  func manifestBody(of selected: SelectedResponse) async throws -> [UInt8]? {
    let length = selected.known.information.length
    if let length, length > Manifest.longest { return nil }
    var body: [UInt8] = []
    for try await bytes in selected.reader.chunks() {
      // The first bytes may come in several pieces.
      let isBeginning = body.count < 64
      body += bytes
      if isBeginning, body.count >= 64, !Manifest.mayBegin(with: Data(body.prefix(64))) {
        return nil
      }
      if body.count > Manifest.longest { return nil }
      if Int64(body.count) == length { break }
    }
    return Manifest.mayBegin(with: Data(body.prefix(64))) ? body : nil
  }

  /// - Parameter isFiltered: whether the body is for the time being, and clients must not keep it.
  private func sendManifest(
    _ body: [UInt8], of selected: SelectedResponse, isFiltered: Bool
  ) async throws {
    let etag = ManifestEditor.etag(of: body, original: selected.known.etag)
    var isModified = true
    if let conditions = Preconditions(fields: exchange.fields) {
      let outcome = conditions.evaluate(
        hasRange: false, etag: etag, lastModified: selected.known.lastModified,
        isStrongLastModified: false)
      switch outcome {
      case .proceed, .ignoreRange: break
      case .notModified: isModified = false
      case .failed: throw Self.preconditionFailed
      }
    }
    let length = selected.known.information.length ?? .max
    var head = head(isModified ? 200 : 304, selected, [0..<length])
    ManifestEditor.describe(&head.fields, etag: etag)
    if !isModified { head.fields["Content-Type"] = nil }
    if isFiltered {
      head.fields["Expires"] = nil
      head.fields["Cache-Control"] = "no-cache"
    }
    if try await delivery.begin(head, length: Int64(body.count)) {
      try await delivery.write(ByteBuffer(bytes: body))
    }
    try await delivery.writer.end()
  }
}

/// Recognizes manifests, also those that neither their type nor their URL names.
extension CachedAnswer {
  /// Returns whether the response may be a manifest: by its type or its name, or else by its first
  /// bytes. Most media shows by its first byte that it is none.
  ///
  /// Nil if the resource could be a manifest without a manifest's name, and its first bytes are
  /// neither stored nor needed for the response: they are not requested from the origin for this.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  func isManifest(_ reader: MediaReader, _ known: StoredResponse) async throws -> Bool? {
    if isNamedManifest(known) { return true }
    let (type, length) = (known.information.mimeType, known.information.length)
    guard Manifest.mayBeUnnamed(mimeType: type, length: length) else { return false }
    // An empty resource has no first byte to wait for.
    guard length != 0 else { return false }
    guard isStored(reader, length) || needsBeginning(reader) else { return nil }
    return try await beginsLikeManifest(reader, length)
  }

  /// Whether the response is a manifest by its type or its name.
  private func isNamedManifest(_ known: StoredResponse) -> Bool {
    let information = known.information
    return [exchange.url, information.finalURL].contains {
      Manifest.isNamed(mimeType: information.mimeType, url: $0)
    }
  }

  /// Whether the first byte is there, or is requested in any case.
  private func needsBeginning(_ reader: MediaReader) -> Bool {
    // The start of several ranges, or of the last bytes, is unknown without the length.
    guard range.bounds.start == 0, range.bounds.end != nil, !terms.directives.onlyIfCached else {
      return false
    }
    let needsBytes = !isHEAD && Preconditions(fields: exchange.fields) == nil
    return needsBytes || reader.statistics.requests > 0 || reader.spansBefore.contains(0)
  }

  /// Whether all of the resource was stored before the request.
  private func isStored(_ reader: MediaReader, _ length: Int64?) -> Bool {
    guard let length else { return false }
    return reader.spansBefore.ranges.contains { $0.lowerBound == 0 && length <= $0.upperBound }
  }

  private func beginsLikeManifest(_ reader: MediaReader, _ length: Int64?) async throws -> Bool {
    let longest = Int64(Manifest.longestBeginning)
    var bytes: [UInt8] = []
    while true {
      let found = try await piece(of: reader, at: Int64(bytes.count))
      bytes += found
      let isWhole = found.isEmpty || length == Int64(bytes.count)
      if let answer = Manifest.isBeginning(bytes, isWhole: isWhole) { return answer }
      // The client may have requested less.
      if isHEAD || range.bounds.end ?? .max < longest { reader.setEnd(longest, readsOn: true) }
    }
  }

  /// The number of bytes read first: most media needs one.
  private static let firstPiece = 512

  /// Returns bytes of the beginning; none at the end of the resource. Stored ones do not count as
  /// read: they are read again to be sent.
  private func piece(of reader: MediaReader, at offset: Int64) async throws -> [UInt8] {
    let most = offset == 0 ? Self.firstPiece : Manifest.longestBeginning
    if case .file(let file, let end) = try await reader.available(at: offset, count: 0) {
      let count = Int(min(end - offset, Int64(most)))
      let bytes = await IOThreads.shared.run {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
          filled = file.copy(into: UnsafeMutableRawBufferPointer(buffer), at: offset) ?? 0
        }
      }
      if !bytes.isEmpty { return bytes }
    }
    // Bytes in memory, and those that have to be fetched again.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: most, alignment: 1)
    defer { buffer.deallocate() }
    let count = try await reader.read(into: buffer, at: offset)
    return Array(buffer[..<count])
  }
}

/// Finds out whether the origin can be reached before a client selects a variant of a stream.
extension CachedAnswer {
  /// Returns the response as the origin confirms it, if it is a fresh manifest that names more than
  /// is stored: while it is fresh, nothing else shows that the origin cannot be reached, and a player
  /// would select a variant that is not stored and fail. Any other response is returned as it is.
  ///
  /// An origin is asked once in ten seconds at most. A shared cache does not ask: its clients would
  /// cost the origin a request every ten seconds for each manifest, however fresh.
  ///
  /// - Throws: `CancellationError`.
  func confirmed(_ selected: SelectedResponse) async throws -> SelectedResponse {
    guard selected.isManifest == true else { return selected }
    let cache = service.cache
    guard source(of: selected) == .hit else {
      note(selected)
      return selected
    }
    // Nothing is removed from an MPD that changes, and a list of segments names no variants.
    guard selected.known.freshness.pace?.isLive != true, service.cachePolicy == .personal,
      !cache.isOffline,
      !terms.directives.onlyIfCached,
      service.hasReachedOrigin(of: exchange.url) == nil,
      let body = try await manifestBody(of: selected),
      try await StoredVariants(cache: cache, url: baseURL(of: selected.known)).isReducible(body)
    else { return selected }
    var terms = terms
    terms.directives.maxAge = 0
    // It is fresh: an origin that is silent does not hold the client up for long.
    terms.acceptsForbidden = true
    do {
      // After an error of the origin, the fresh response is used, but not as a confirmed one: its
      // source is `.stale` then.
      guard case .response(let confirmed) = try await select(terms) else { return selected }
      note(confirmed)
      selected.reader.cancel()
      return confirmed
    } catch let error as MediaCacheError {
      let isReached = ![.unreachable, .offline, .networkNotAllowed].contains(error.code)
      service.noteOrigin(of: exchange.url, isReached: isReached)
      return selected
    } catch is HTTPError {
      return selected
    }
  }

  /// Notes whether the request that brought or confirmed a response has reached its origin.
  private func note(_ selected: SelectedResponse) {
    let isReached: Bool
    switch source(of: selected) {
    case .stale: isReached = false
    case .miss, .revalidated: isReached = true
    case .hit, .partial, .relayed, .proxy: return
    }
    service.noteOrigin(of: exchange.url, isReached: isReached)
  }

  /// Returns the source of the whole response.
  func source(of selected: SelectedResponse) -> ServedRequest.Source {
    let length = selected.known.information.length ?? .max
    return ResponseSource(
      reader: selected.reader, known: selected.known, wanted: [0..<length],
      since: selected.started, isStale: false
    ).source
  }
}
