// SPDX-License-Identifier: MIT

/// The request that confirms a stored generation and, in one go, brings what a reader wants next:
/// whatever the answer is, it is used. A pure value.
struct ConfirmingRequest: Sendable, Hashable {
  /// What the request asks for.
  var range: ByteRange
  /// The bytes at its start are not stored: the answer brings them, and an answer without a body
  /// (304) would take a second request.
  var fills: Bool

  /// The headers of the request: a range, and the condition that suits it.
  ///
  /// Stored bytes are confirmed by If-None-Match and If-Modified-Since (RFC 9110 §13.1.2, §13.1.3):
  /// a 304 when they still hold, else the range of the new version. Missing bytes are asked for under
  /// If-Range (§13.1.5) where the validator is strong: a 206 confirms and fills, a 200 is the new
  /// version. Without anything to ask with, the range is asked for alone.
  func headers(_ validator: Validator) -> HTTPFields {
    var headers: HTTPFields = fills ? [:] : validator.conditional
    headers.append(
      "Range",
      RangeHeader.value(range.lowerBound, to: range.upperBound == .max ? nil : range.upperBound))
    if let ifRange = sentIfRange(validator) { headers.append("If-Range", ifRange) }
    return headers
  }

  /// The value of If-Range that is sent; nil where it is not.
  func sentIfRange(_ validator: Validator) -> String? {
    // Another server that is known would send all of the resource for a tag that is not its own.
    fills && validator.otherETags == nil ? validator.ifRange : nil
  }

  /// What an answer says of the stored generation.
  enum Meaning: Sendable, Hashable {
    /// It still holds, and the answer has no bytes of use.
    case confirmed
    /// It still holds, and the answer has bytes of it.
    case confirmedAndBrings(ResponseCheck.Verdict)
    /// The origin has another generation, or nothing says that it has not.
    case replaced
    /// The origin could not answer: unreachable is not gone.
    case unanswered(MediaCacheError)
    /// No further attempt helps.
    case failed(MediaCacheError)
  }

  /// What an answer says of the stored generation.
  ///
  /// - Parameters:
  ///   - verdict: of the answer, judged by what is known of the generation.
  ///   - known: what is known of the generation.
  ///   - isInUse: a reader was given bytes of it. Where nothing says that the origin has another
  ///     one, nor that it has not, ending that reader would be worse than going on.
  func meaning(
    of verdict: ResponseCheck.Verdict, known: ResponseCheck.Known, isInUse: Bool
  ) -> Meaning {
    switch verdict {
    case .notModified, .otherServer: return .confirmed
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
  /// The request that confirms this generation for a reader.
  ///
  /// - Parameter offset: where it waits; nil: it waits until it is known what the resource is.
  func confirmingRequest(for reader: Reader, at offset: Int64?) -> ConfirmingRequest {
    let start = offset ?? reader.position
    var limits = limits
    limits.length = length
    limits.supportsRanges = nil
    limits.usualRun = runs.usual
    if isTransient { limits.maximumReadAhead = min(limits.maximumReadAhead, 2 << 20) }
    var demand = FetchPlan.Demand(
      position: start, runLength: reader.runLength, end: start < reader.end ? reader.end : .max,
      isWaiting: true, isBackground: reader.isBackground,
      readsOn: reader.readsOn && start < reader.end,
      minimum: reader.minimum)

    var there = reader.isBackground ? stored : readable
    // What is on its way is not asked for again.
    for fetch in fetches.values where fetch.position < fetch.range.upperBound {
      there.insert(contentsOf: fetch.position..<fetch.range.upperBound)
    }
    // HEAD, and whoever else wants no bytes.
    let wantsBytes = offset != nil || reader.end > start + 1
    let isBeyondEnd = length.map { start >= $0 } ?? false
    if wantsBytes, !isBeyondEnd {
      let isUnconditional = validator.conditional.isEmpty
      let isInUse = readers.values.contains(where: \.hasRead)
      // With nothing to ask with, and a reader that goes on whatever the answer is, the next hole is
      // worth more than bytes that are there.
      let asksBeyond = isUnconditional && isInUse
      let hole = asksBeyond ? there.range(containing: start)?.upperBound ?? start : start
      if !there.contains(hole), length.map({ hole < $0 }) != false {
        demand.position = hole
        if case .start(let range) = limits.decide(for: demand, readable: there, running: []) {
          return ConfirmingRequest(range: range, fills: true)
        }
      }
      if asksBeyond { return ConfirmingRequest(range: start..<start + 1, fills: false) }
    }
    if !wantsBytes { return ConfirmingRequest(range: start..<start + 1, fills: false) }
    // The length of what may come instead is not known.
    limits.length = nil
    guard case .start(let range) = limits.decide(for: demand, readable: .init(), running: []) else {
      return ConfirmingRequest(range: start..<start + 1, fills: false)
    }
    return ConfirmingRequest(range: range, fills: false)
  }
}
