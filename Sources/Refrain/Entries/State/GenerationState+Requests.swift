// SPDX-License-Identifier: MIT
import Foundation

/// Whether a stored response may be used without asking the origin, and what its answer changes.
extension GenerationState {
  func isUsable(on terms: ReadTerms, at now: Moment) -> Bool {
    if isOffline { return true }
    // An incomplete one serves only the readers in the middle of it.
    if isOneResponse, !isComplete, fetches.values.allSatisfy(\.isConfirmation) { return false }
    guard let freshness else { return false }
    // The URL does not name fixed bytes if they change by themselves, or are outdated.
    let isTrusted =
      trustsStored && freshness.pace?.isLive != true && freshness.isOutdated != true
      && !terms.isReplaced(freshness)
    // An origin that forbids to store the response decides on each use.
    let isFresh =
      !(freshness.noStore && storage.ignoresNoStore)
      && terms.accept(freshness, at: wallTime(at: now))
    return isTrusted || isFresh || joinsOthers(terms, freshness, at: now)
  }

  /// Returns the wall-clock time, or a later one if the clock was set back since the response.
  func wallTime(at now: Moment) -> Date {
    guard let freshness,
      let passed = freshness.confirmedUptime.flatMap({ now.uptime.seconds(since: $0) })
    else { return now.wall }
    return max(now.wall, freshness.confirmedAt + passed)
  }

  static let joinSeconds: Double = 10

  /// Whether a further reader joins the response of a moment ago: one play is often many readers.
  private func joinsOthers(_ terms: ReadTerms, _ freshness: Freshness, at now: Moment) -> Bool {
    guard !terms.directives.noCache, let contact = representation.lastContact,
      let elapsed = now.uptime.seconds(since: contact.time),
      // Bytes that served another reader while the origin could not be asked may be too old now.
      contact.isReached || terms.acceptUnconfirmed(freshness, at: wallTime(at: now)),
      terms.listing.map({ freshness.confirmedAt < $0.time }) != true
    else { return false }
    // Another response would end the one that arrives, and its readers.
    let isArriving = fetches.values.contains(where: isKeptToEnd)
    let longest = min(freshness.pace?.longestUse ?? .infinity, Self.joinSeconds)
    guard isArriving || elapsed < longest else { return false }
    guard terms.audience == .client else { return isArriving || isOneResponse || !readers.isEmpty }
    // The freshness stated by the origin applies, and so do the directives of the request.
    guard freshness.isGuessed == true, freshness.isOutdated != true, !freshness.mustRevalidate,
      terms.directives.maxAge == nil, terms.directives.minFresh == nil,
      terms.notBefore.map({ $0 < freshness.confirmedAt }) != false
    else { return false }
    return isArriving || freshness.pace.map { $0 != .unstated } ?? isReadInPieces
  }

  /// Whether a play takes several requests, as with media whose index lies at the end. A resource
  /// that one request brings is asked for once by each client.
  var isReadInPieces: Bool {
    guard let info, freshness?.pace == nil else { return false }
    let type = info.mimeType ?? "application/octet-stream"
    if type.hasPrefix("audio/") || type.hasPrefix("video/") { return true }
    return type.hasSuffix("/octet-stream") && (info.length ?? .max) > limits.firstRequest
  }

  /// Records that the origin has confirmed the generation, or could not be asked: then readers that
  /// accept stale bytes continue.
  mutating func confirmed(at now: Moment, unless error: MediaCacheError? = nil) {
    representation.lastContact = (now.uptime, error == nil)
    func goesOn(_ reader: Reader) -> Bool {
      error == nil || !reader.awaitsConfirmation || playsStale(reader, at: now)
    }
    if let error { wake(readers.waits.filter { !goesOn($0.reader) }, with: error) }
    for (id, reader) in readers.all where goesOn(reader) { readers[id]?.confirm() }
    plan()
  }

  /// Whether the confirmation is awaited for a few seconds only: some reader plays without it then,
  /// or the next version of a live document would come too late.
  func confirmsBriefly(at now: Moment) -> Bool {
    freshness?.pace?.isLive == true
      || readers.values.contains { $0.awaitsConfirmation && playsStale($0, at: now) }
  }

  private func playsStale(_ reader: Reader, at now: Moment) -> Bool {
    reader.terms.acceptUnconfirmed(freshness, at: wallTime(at: now))
  }
}

extension GenerationState {
  /// Whether requests ask for the whole resource: also for a version of one response unless its
  /// rest can be requested, and for a document not known to have ranges: it may be compressed.
  private var isRequestedWhole: Bool {
    if fetches.ranges == .refused { return true }
    if isOneResponse, info == nil || isComplete || validator.ifRange == nil { return true }
    return representation.isDocument && info?.supportsRanges != true
  }

  /// Whether each response begins at the first byte: readers wait for it wherever they are.
  var comesWhole: Bool {
    [.ignored, .refused].contains(fetches.ranges) || isOneResponse || info?.supportsRanges == false
  }

  /// Returns a fetch's next request; nil if it has nothing to bring.
  mutating func nextRequest(
    of id: FetchID, confirming range: ByteRange, at now: Moment
  ) -> FetchRequest? {
    guard let fetch = fetches[id], !isOver, !fetch.isCalledOff else { return nil }
    var request = FetchRequest(
      range: range, fills: fetch.bringsBytes, isWhole: isRequestedWhole, known: knownToCheck)
    if fetch.isConfirmation {
      request.isConfirmation = true
      request.isBrief = confirmsBriefly(at: now)
      // Of a document that has come, a response to another request is the next version.
      request.known.isDocument =
        freshness?.pace != nil && length ?? 0 <= representation.longestDocument
        && fetches.values.allSatisfy { $0.isConfirmation || $0.ahead.isEmpty }
      if request.known.isDocument { request.isWhole = true }
    } else {
      // Bytes stored in the meantime need not be requested again.
      guard let start = hole(from: fetch.position), start < fetch.range.upperBound else {
        return nil
      }
      fetches[id]?.position = start
      request.range = start..<fetch.range.upperBound
      request.usesShortcut = info != nil
    }
    // An error of an origin that has never sent a range may be due to the range alone.
    if !request.isWhole, fetches.ranges != .answered { request.optionalRange = request.range }
    return request
  }

  var knownToCheck: ResponseCheck.Known {
    .init(length: length, validator: validator, isPage: MediaType.isPage(info?.mimeType))
  }

  /// Returns the range that confirms this generation for a reader that waits at `offset` (nil: for
  /// the content information), and whether bytes are missing there (`FetchRequest.fills`).
  func confirmingRequest(
    for reader: Reader, at offset: Int64?
  ) -> (range: ByteRange, fills: Bool) {
    // No further request could bring the rest.
    if isOneResponse {
      let hole = hole(from: 0)
      return ((hole ?? 0)..<(length ?? .max), hole != nil)
    }
    var (limits, demand) = (currentLimits, reader)
    limits.supportsRanges = nil
    demand.position = offset ?? reader.position
    let start = demand.position
    var there = (reader.isBackground ? stored : readable).with(fetches.values)
    let fills = start < length ?? .max && !there.contains(start)
    if !fills {
      // Neither the bytes nor the length of a replacement are known.
      (there, limits.length) = (RangeSet(), nil)
      if reader.fillsWhole { demand.readsOn = true }
    }
    let range = limits.request(for: demand, isWaiting: true, readable: there, running: [])
    return (range ?? start..<start + 1, fills)
  }
}

/// Origins whose validator, or length, changes with each response: podcasts with inserted
/// advertisements, servers behind one name whose ETags differ, files that are still being written.
/// No two of their responses can be combined, so once two versions in a row have come to nothing,
/// one response is the whole version: requested without a range, and received to its end.
extension GenerationState {
  private static let mostVersions = 5

  var isOneResponse: Bool { validator.isOfOneResponse }

  /// Whether a fetch is received to its end, although nobody may want its bytes now.
  func isKeptToEnd(_ fetch: RunningFetch) -> Bool {
    isOneResponse && !fetch.isConfirmation && fetch.isReceiving && !isTransient && length != nil
  }

  /// Returns `Validator.replacements` of the next version if this one is replaced now.
  func replacements(at now: Uptime) -> Int {
    // A document that is replaced as it goes on is no origin that changes.
    if isLive || freshness?.pace != nil { return 0 }
    if isComplete { return isOneResponse ? Validator.mostReplacements : 0 }
    if !isOneResponse, info != nil {
      // Later, it is a usual change.
      guard let contact = representation.lastContact?.time ?? freshness?.confirmedUptime,
        now.seconds(since: contact).map({ $0 < 60 }) == true
      else { return 0 }
    }
    return (validator.replacements ?? 0) + 1
  }

  /// Whether the origin sent too many versions in a row. A reader that asks again causes some more.
  mutating func hasChangedTooOften(at now: Uptime) -> Bool {
    guard life != .superseded, replacements(at: now) >= Self.mostVersions else { return false }
    representation.follow(replacements: Validator.mostReplacements)
    return true
  }

  static let keepsChanging = MediaCacheError(
    .invalidResponse,
    "The origin sends another version with each response, and none of the last \(mostVersions) "
      + "arrived to its end.",
    remedy: "Try again later, or use another source.")
}
