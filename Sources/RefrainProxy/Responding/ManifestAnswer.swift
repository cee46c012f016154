// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainStreams

/// Responds with a manifest of a stream, whose references are rewritten to lead through this proxy.
/// The cache stores the original.
struct ManifestAnswer: Sendable {
  private let answer: CachedAnswer
  private let selected: SelectedResponse

  init(_ answer: CachedAnswer, _ selected: SelectedResponse) {
    self.answer = answer
    self.selected = selected
  }

  private var exchange: Exchange { answer.exchange }

  /// - Returns: false if the response is no manifest, or none that changes: it is sent as it is.
  /// - Throws: `HTTPError`, if the manifest would have to change but cannot.
  func run() async throws -> Bool {
    guard let body = try await body() else { return false }
    let url = answer.baseURL(of: selected.known)
    await exchange.noteListing(body, base: url, recorded: selected.reader.group)
    let stored =
      isUnreachable ? try await StoredVariants(cache: cache, url: url).filtered(body) : nil
    let editor = ManifestEditor(exchange: exchange, url: url, stream: selected.reader.group)
    guard let edited = try await editor.edit(stored ?? body) else { return false }
    if let target = edited.redirection {
      try await exchange.redirect(to: target)
      return true
    }
    // A range of an unchanged body is a range of the original.
    let isFiltered = stored.map { $0 != body } ?? false
    guard edited.isChanged || isFiltered else { return false }
    try await send(edited.body, isFiltered: isFiltered)
    return true
  }

  private var cache: MediaCache { exchange.service.cache }

  /// Whether the origin cannot be asked: the cache makes no request, or the last one failed a moment
  /// ago.
  private var isUnreachable: Bool {
    if cache.isOffline { return true }
    switch answer.source(of: selected) {
    case .stale: return true
    case .hit:
      return exchange.service.hasReachedOrigin(of: exchange.url) == false
    case .miss, .partial, .revalidated, .relayed, .proxy: return false
    }
  }

  /// Returns the whole body; nil if it is too long for a manifest, or does not begin like one.
  func body() async throws -> [UInt8]? {
    let reader = selected.reader
    let length = selected.known.information.length
    if let length, length > Manifest.longest { return nil }
    reader.setEnd(.max, readsOn: true)
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(Int(length ?? 0), 64 << 10), alignment: 1)
    defer { buffer.deallocate() }
    var body: [UInt8] = []
    var isRecognized = false
    while body.count <= Manifest.longest {
      let count = try await reader.read(into: buffer, at: Int64(body.count))
      body += buffer[..<count]
      let isWhole = count == 0 || length == Int64(body.count)
      // The first bytes may come in several pieces.
      if !isRecognized, isWhole || body.count >= 64 {
        guard Manifest.mayBegin(with: Data(body.prefix(64))) else { return nil }
        isRecognized = true
      }
      if isWhole { return body }
    }
    return nil
  }

  /// - Parameter isFiltered: whether the body is for the time being, and clients must not keep it.
  private func send(_ body: [UInt8], isFiltered: Bool) async throws {
    let etag = ManifestEditor.etag(of: body, original: selected.known.etag)
    if let conditions = Preconditions(fields: exchange.fields) {
      let outcome = conditions.evaluate(
        hasRange: false, etag: etag, lastModified: selected.known.lastModified,
        isStrongLastModified: false)
      switch outcome {
      case .proceed, .ignoreRange: break
      case .notModified: return try await send(status: 304, etag, [], .none, isFiltered)
      case .failed:
        throw HTTPError(412, "The resource does not meet the request's preconditions.")
      }
    }
    let length = Int64(body.count)
    if answer.isHEAD {
      return try await send(status: 200, etag, [], .omitted(length), isFiltered)
    }
    try await send(status: 200, etag, body, .length(length), isFiltered)
  }

  private func send(
    status: Int, _ etag: String, _ body: [UInt8], _ framing: ResponseHead.Body,
    _ isFiltered: Bool
  ) async throws {
    let length = selected.known.information.length ?? .max
    var head = answer.head(status, selected, [0..<length], body: framing)
    ManifestEditor.describe(&head.fields, etag: etag)
    if status == 304 { head.fields["Content-Type"] = nil }
    if isFiltered {
      head.fields["Expires"] = nil
      head.fields["Cache-Control"] = "no-cache"
    }
    try await answer.writer.begin(head)
    if !body.isEmpty {
      try await answer.writer.write(ByteBuffer(bytes: body))
      exchange.report.note { $0.bytesSent += Int64(body.count) }
    }
    try await answer.writer.end()
  }
}

extension Exchange {
  /// Notes which resources a live manifest names again (`LiveListings`), before the client can
  /// request them.
  ///
  /// - Parameters:
  ///   - base: the URL to which references are relative.
  ///   - stream: the stream in the manifest's record; nil if there is none.
  func noteListing(_ body: [UInt8], base: URL, recorded stream: CacheKey?) async {
    let stream = service.stream(of: url, recorded: stream)
    let imported = session?.importable ?? [:]
    let note = { @Sendable [service, url] in
      service.listings.note(
        body, of: url, at: base, in: stream, imported: imported, service.cache)
    }
    if Manifest.mayTakeLong(body) { await IOThreads.background.run(note) } else { note() }
  }
}
