// SPDX-License-Identifier: MIT

/// A request for the bytes that a reader wants next. If these are stored, it confirms the generation
/// as well: every response to it is used. A pure value.
struct FetchRequest: Sendable {
  /// The requested range.
  var range: ByteRange
  /// Whether the bytes at the range's start are missing: the response brings them, and one without
  /// a body (304) would cost a second request.
  var fills: Bool
  /// Whether the request names no range (`GenerationState.isRequestedWhole`).
  var isWhole = false
  /// The known properties of the generation.
  var known: ResponseCheck.Known
  /// Whether the request is about stored bytes. It does not wait for a network.
  var isConfirmation = false
  /// Whether a response is expected within seconds: without one, stored bytes play.
  var isBrief = false
  /// Whether the request goes directly to the end of the last redirect chain. Not for the first
  /// request, and not for a confirming one: the chain may lead elsewhere by now.
  var usesShortcut = false
  /// The requested range, if the request may be sent once more without it where the response is
  /// unusable: an error of an origin that has never sent a range may be due to the range alone.
  var optionalRange: ByteRange?
  var purpose = OriginRequest.Purpose.playback

  /// The headers of the request: a range, and the condition that suits it.
  ///
  /// Stored bytes are confirmed by If-None-Match and If-Modified-Since (RFC 9110 §13.1.2, §13.1.3):
  /// a 304 when they are unchanged, else the range of the new version. Missing bytes are requested
  /// under If-Range (§13.1.5) if the validator is strong: a 206 confirms and fills, a 200 is the
  /// new version. Without a validator, the range is requested unconditionally. Without a range,
  /// missing bytes are requested unconditionally, too.
  ///
  /// A document whose validator may stay while it changes is requested unconditionally.
  var headers: HeaderFields {
    let validator = known.validator
    let isUnconditional = fills || (known.isDocument && !validator.followsDocument)
    var headers: HeaderFields = isUnconditional ? [:] : validator.conditional
    if isWhole { return headers }
    headers.append("Range", range.fieldValue)
    if let ifRange { headers.append("If-Range", ifRange) }
    return headers
  }

  /// The value of If-Range that is sent; nil if it is not.
  var ifRange: String? { fills && !isWhole ? known.validator.ifRange : nil }

  /// Whether a response that brings bytes is of the stored generation.
  ///
  /// - Parameters:
  ///   - verdict: of the response, judged by what is known of the generation.
  ///   - isInUse: whether a reader has received bytes of the generation. If nothing shows whether the
  ///     origin has another one, ending that reader would be worse than continuing.
  func isConfirmed(by verdict: ResponseCheck.Verdict, isInUse: Bool) -> Bool {
    switch verdict {
    case .part(_, let facts), .whole(let facts):
      switch known.validator.matches(facts.validator) {
      case .same, .weaklySame: return known.validator.isForStored || isInUse
      case .different: return false
      case .unknown:
        // The origin itself has compared the validator that was sent.
        if case .part = verdict, ifRange != nil { return true }
        return isInUse
      }
    default:
      return false
    }
  }
}

extension GenerationState {
  /// Returns the next request of a fetch; nil if it has nothing more to bring.
  ///
  /// - Parameter range: the range to request, if the fetch confirms the generation.
  mutating func nextRequest(
    of id: FetchID, confirming range: ByteRange, at now: Moment
  ) -> FetchRequest? {
    guard let fetch = fetches[id], !isOver, !fetch.isCalledOff else { return nil }
    var request = FetchRequest(
      range: range, fills: fetch.bringsBytes, isWhole: isRequestedWhole,
      known: .init(
        length: length, validator: validator, isPage: MediaType.isPage(info?.mimeType)))
    if fetch.isConfirmation {
      request.isConfirmation = true
      request.isBrief = confirmsBriefly(at: now)
      request.known.isDocument = isReceivedDocument
      if isReceivedDocument { request.isWhole = true }
    } else {
      // Bytes stored in the meantime need not be requested again. An origin without ranges begins
      // at its first byte whatever the request.
      guard let start = hole(from: fetch.position), start < fetch.range.upperBound else {
        return nil
      }
      fetches[id]?.position = start
      request.range = start..<fetch.range.upperBound
      request.usesShortcut = info != nil
    }
    if !request.isWhole { request.optionalRange = optionalRange(request.range) }
    return request
  }

  /// The purpose of the next request of a fetch: playback if a reader in the foreground waits for its
  /// bytes, or for the confirmation.
  func purpose(of id: FetchID) -> OriginRequest.Purpose {
    guard let fetch = fetches[id], fetch.isConfirmation else {
      return fetches[id]?.isBackground == true ? .prefetch : .playback
    }
    return readers.values.contains { $0.awaitsConfirmation && !$0.isBackground }
      ? .playback : .prefetch
  }

  /// Whether the resource is a document, and none of it is on its way: a response to another request
  /// then is the next version, and ends no reader that waits for this one.
  private var isReceivedDocument: Bool {
    freshness?.pace != nil && length ?? 0 <= representation.longestDocument
      && !fetches.values.contains {
        !$0.isConfirmation && $0.phase != .ended && !$0.ahead.isEmpty
      }
  }

  /// Returns the request that confirms this generation for a reader: its range, and whether bytes are
  /// missing there (`FetchRequest.fills`).
  ///
  /// - Parameter offset: where the reader waits; nil: it waits for the properties of the resource.
  func confirmingRequest(
    for reader: Reader, at offset: Int64?
  ) -> (range: ByteRange, fills: Bool) {
    if isOneResponse {
      let hole = hole(from: 0)
      return ((hole ?? 0)..<(length ?? .max), hole != nil)
    }
    let start = offset ?? reader.position
    var limits = currentLimits
    limits.supportsRanges = nil
    var demand = reader
    demand.position = start
    var there = reader.isBackground ? stored : readable
    // Bytes in transit are not requested again.
    for fetch in fetches.values where !fetch.ahead.isEmpty { there.insert(contentsOf: fetch.ahead) }
    let one = (range: start..<start + 1, fills: false)
    // HEAD, and other readers that want no bytes.
    guard offset != nil || reader.end > start + 1 else { return one }
    if length.map({ start < $0 }) != false {
      let isUnconditional = validator.conditional.isEmpty
      let isInUse = readers.values.contains(where: \.hasRead)
      // Without a validator, and with a reader that continues whatever the response, the next hole
      // is more useful than bytes that are stored.
      let asksBeyond = isUnconditional && isInUse
      let hole = asksBeyond ? there.end(from: start) : start
      let isInReach = start >= reader.end || hole < reader.end
      if isInReach, !there.contains(hole), length.map({ hole < $0 }) != false {
        demand.position = hole
        if case .start(let range) = limits.decide(
          for: demand, isWaiting: true, readable: there, running: [])
        {
          return (range, true)
        }
      }
      if asksBeyond { return one }
    }
    // The length of a replacement is not known.
    limits.length = nil
    if reader.fillsWhole { demand.readsOn = true }
    guard
      case .start(let range) = limits.decide(
        for: demand, isWaiting: true, readable: .init(), running: [])
    else {
      return one
    }
    return (range, false)
  }
}
