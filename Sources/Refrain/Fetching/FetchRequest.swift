// SPDX-License-Identifier: MIT

/// A request for the bytes that a reader wants next. If these are stored, it confirms the generation
/// as well: every response to it is used. A pure value.
struct FetchRequest: Sendable, Hashable {
  /// The requested range.
  var range: ByteRange
  /// Whether the bytes at the range's start are missing: the response brings them, and one without
  /// a body (304) would cost a second request.
  var fills: Bool
  /// Whether the request names no range (`GenerationState.isRequestedWhole`).
  var isWhole = false

  /// Returns the headers of the request: a range, and the condition that suits it.
  ///
  /// Stored bytes are confirmed by If-None-Match and If-Modified-Since (RFC 9110 §13.1.2, §13.1.3):
  /// a 304 when they are unchanged, else the range of the new version. Missing bytes are requested
  /// under If-Range (§13.1.5) if the validator is strong: a 206 confirms and fills, a 200 is the
  /// new version. Without a validator, the range is requested unconditionally. Without a range,
  /// missing bytes are requested unconditionally, too.
  ///
  /// A document whose validator may stay while it changes is requested unconditionally.
  func headers(of known: ResponseCheck.Known) -> HeaderFields {
    let validator = known.validator
    let isUnconditional = fills || (known.isDocument && !validator.followsDocument)
    var headers: HeaderFields = isUnconditional ? [:] : validator.conditional
    if isWhole { return headers }
    headers.append("Range", range.fieldValue)
    if let ifRange = sentIfRange(validator) { headers.append("If-Range", ifRange) }
    return headers
  }

  /// Returns the value of If-Range that is sent; nil if it is not.
  func sentIfRange(_ validator: Validator) -> String? {
    fills && !isWhole ? validator.ifRange : nil
  }

  /// The effect of a response on the stored generation.
  enum Meaning: Sendable, Hashable {
    /// The generation is confirmed, and the response has no useful bytes.
    case confirmed
    /// The generation is confirmed, and the response has bytes of it.
    case confirmedAndBrings(ResponseCheck.Verdict)
    /// The origin has another generation, or nothing shows that it has not.
    case replaced
    /// The origin could not respond, which does not mean that the resource is gone.
    case unanswered(MediaCacheError)
    /// No further attempt helps.
    case failed(MediaCacheError)
  }

  /// Returns the effect of a response on the stored generation.
  ///
  /// - Parameters:
  ///   - verdict: of the response, judged by what is known of the generation.
  ///   - known: the known properties of the generation.
  ///   - isInUse: whether a reader has received bytes of it. If nothing shows whether the origin
  ///     has another one, ending that reader would be worse than continuing.
  func meaning(
    of verdict: ResponseCheck.Verdict, known: ResponseCheck.Known, isInUse: Bool
  ) -> Meaning {
    switch verdict {
    case .notModified: return .confirmed
    case .part(_, let facts), .whole(let facts):
      let isHeld: Bool
      switch known.validator.matches(facts.validator) {
      case .same, .weaklySame: isHeld = known.validator.isForStored || isInUse
      case .different: isHeld = false
      case .unknown:
        // The origin itself has compared the validator that was sent.
        if case .part = verdict, sentIfRange(known.validator) != nil {
          isHeld = true
        } else {
          isHeld = isInUse
        }
      }
      return isHeld ? .confirmedAndBrings(verdict) : .replaced
    case .changed: return .replaced
    case .beyondEnd(let length):
      return length == 0 && known.length == 0 ? .confirmed : .replaced
    case .refused(let status): return .failed(ResponseCheck.refusal(status))
    case .transient(let error, _), .invalid(let error): return .unanswered(error)
    case .failed(let error): return .failed(error)
    }
  }
}

extension GenerationState {
  /// Whether the resource is a document, and none of it is on its way: a response to another request
  /// then is the next version, and ends no reader that waits for this one.
  var isReceivedDocument: Bool {
    freshness?.pace != nil && length ?? 0 <= representation.longestDocument
      && !fetches.values.contains {
        !$0.isConfirmation && $0.phase != .ended && !$0.ahead.isEmpty
      }
  }

  /// Returns the request that confirms this generation for a reader.
  ///
  /// - Parameter offset: where the reader waits; nil: it waits for the properties of the resource.
  func confirmingRequest(for reader: Reader, at offset: Int64?) -> FetchRequest {
    if isOneResponse {
      let hole = hole(from: 0)
      return FetchRequest(range: (hole ?? 0)..<(length ?? .max), fills: hole != nil)
    }
    let start = offset ?? reader.position
    var limits = currentLimits
    limits.supportsRanges = nil
    var demand = reader
    demand.position = start
    var there = reader.isBackground ? stored : readable
    // Bytes in transit are not requested again.
    for fetch in fetches.values where !fetch.ahead.isEmpty { there.insert(contentsOf: fetch.ahead) }
    let one = FetchRequest(range: start..<start + 1, fills: false)
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
          return FetchRequest(range: range, fills: true)
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
    return FetchRequest(range: range, fills: false)
  }
}
