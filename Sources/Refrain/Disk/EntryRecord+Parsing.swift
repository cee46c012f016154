// SPDX-License-Identifier: MIT
import Foundation

/// A parser for the output of `encoded`, several times as fast as `JSONDecoder`: long lists of
/// entries are read record by record.
///
/// It is stricter than JSON: it returns nil for white space, unknown or repeated members, null, and
/// rare escapes, and `JSONDecoder` then parses the record. So an unknown member only costs time.
extension EntryRecord {
  init?(parsing bytes: [UInt8]) {
    let parsed = bytes.withUnsafeBytes { buffer -> EntryRecord? in
      var parser = RecordParser(buffer)
      guard let record = EntryRecord(&parser), parser.isAtEnd else { return nil }
      return record
    }
    guard let parsed else { return nil }
    self = parsed
  }

  private init?(_ parser: inout RecordParser) {
    var (version, epoch): (Int64?, Int64?)
    var (key, url, finalURL, generation, file): (String?, String?, String?, String?, String?)
    var (mimeType, variant, group): (String?, String?, String?)
    var length: Int64?
    var (supportsRanges, isSharable): (Bool?, Bool?)
    var (validator, freshness): (Validator?, Freshness?)
    var headers: [String]?
    var invalidatedAt: Date?
    var spans: [Int64]?
    let isWhole = parser.object { name, parser in
      switch name {
      case "version": parser.take(&version) { $0.integer() }
      case "epoch": parser.take(&epoch) { $0.integer() }
      case "length": parser.take(&length) { $0.integer() }
      case "key": parser.take(&key) { $0.string() }
      case "url": parser.take(&url) { $0.string() }
      case "finalURL": parser.take(&finalURL) { $0.string() }
      case "generation": parser.take(&generation) { $0.string() }
      case "file": parser.take(&file) { $0.string() }
      case "mimeType": parser.take(&mimeType) { $0.string() }
      case "variant": parser.take(&variant) { $0.string() }
      case "group": parser.take(&group) { $0.string() }
      case "supportsRanges": parser.take(&supportsRanges) { $0.boolean() }
      case "isSharable": parser.take(&isSharable) { $0.boolean() }
      case "validator": parser.take(&validator) { Validator(&$0) }
      case "freshness": parser.take(&freshness) { Freshness(&$0) }
      case "headers": parser.take(&headers) { $0.array { $0.string() } }
      case "invalidatedAt": parser.take(&invalidatedAt) { $0.date() }
      case "spans": parser.take(&spans) { $0.array { $0.integer() } }
      default: false
      }
    }
    guard isWhole, let version, let key, let url, let finalURL, let generation, let file,
      let supportsRanges, let validator, let freshness, let spans, let epoch
    else { return nil }
    self.init(
      version: Int(version), key: key, url: url, finalURL: finalURL, generation: generation,
      file: file, length: length, mimeType: mimeType, supportsRanges: supportsRanges,
      validator: validator, freshness: freshness, headers: headers, variant: variant,
      isSharable: isSharable, invalidatedAt: invalidatedAt, group: group,
      spans: spans, epoch: Int(epoch))
  }
}

extension Validator {
  fileprivate init?(_ parser: inout RecordParser) {
    var (etag, lastModified): (String?, String?)
    var (isStrong, isLateETag, isLateLastModified): (Bool?, Bool?, Bool?)
    var replacements: Int64?
    let isWhole = parser.object { name, parser in
      switch name {
      case "etag": parser.take(&etag) { $0.string() }
      case "lastModified": parser.take(&lastModified) { $0.string() }
      case "isStrongLastModified": parser.take(&isStrong) { $0.boolean() }
      case "isLateETag": parser.take(&isLateETag) { $0.boolean() }
      case "isLateLastModified": parser.take(&isLateLastModified) { $0.boolean() }
      case "replacements": parser.take(&replacements) { $0.integer() }
      default: false
      }
    }
    guard isWhole, let isStrong else { return nil }
    self.init(etag: etag, lastModified: lastModified, isStrongLastModified: isStrong)
    self.isLateETag = isLateETag
    self.isLateLastModified = isLateLastModified
    self.replacements = replacements.map { Int(clamping: $0) }
  }
}

extension Freshness {
  fileprivate init?(_ parser: inout RecordParser) {
    var confirmedAt: Date?
    var uptime: Uptime?
    var (initialAge, lifetime): (Double?, Double?)
    var (mustRevalidate, noStore, isGuessed, isOutdated): (Bool?, Bool?, Bool?, Bool?)
    var (mayDifferByCookies, isBounded): (Bool?, Bool?)
    var (staleWhileRevalidate, staleIfError): (Double?, Double?)
    // `JSONDecoder` reads `pace`, which is rare.
    let isWhole = parser.object { name, parser in
      switch name {
      case "confirmedAt": parser.take(&confirmedAt) { $0.date() }
      case "confirmedUptime": parser.take(&uptime) { Uptime(&$0) }
      case "initialAge": parser.take(&initialAge) { $0.number() }
      case "lifetime": parser.take(&lifetime) { $0.number() }
      case "mustRevalidate": parser.take(&mustRevalidate) { $0.boolean() }
      case "noStore": parser.take(&noStore) { $0.boolean() }
      case "isGuessed": parser.take(&isGuessed) { $0.boolean() }
      case "isOutdated": parser.take(&isOutdated) { $0.boolean() }
      case "mayDifferByCookies": parser.take(&mayDifferByCookies) { $0.boolean() }
      case "isBounded": parser.take(&isBounded) { $0.boolean() }
      case "staleWhileRevalidate": parser.take(&staleWhileRevalidate) { $0.number() }
      case "staleIfError": parser.take(&staleIfError) { $0.number() }
      default: false
      }
    }
    guard isWhole, let confirmedAt, let initialAge, let lifetime, let mustRevalidate, let noStore
    else { return nil }
    self.init(
      confirmedAt: confirmedAt, initialAge: initialAge, lifetime: lifetime,
      mustRevalidate: mustRevalidate, noStore: noStore)
    confirmedUptime = uptime
    self.isGuessed = isGuessed
    self.isOutdated = isOutdated
    self.mayDifferByCookies = mayDifferByCookies
    self.isBounded = isBounded
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
  }
}

extension Uptime {
  fileprivate init?(_ parser: inout RecordParser) {
    var seconds: Double?
    var boot: String?
    let isWhole = parser.object { name, parser in
      switch name {
      case "seconds": parser.take(&seconds) { $0.number() }
      case "boot": parser.take(&boot) { $0.string() }
      default: false
      }
    }
    guard isWhole, let seconds, let boot else { return nil }
    self.init(seconds: seconds, boot: boot)
  }
}
