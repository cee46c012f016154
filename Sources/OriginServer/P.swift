public enum OriginServerPlaceholder {}
